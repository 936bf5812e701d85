// Returns the mask if all its lanes hold the same value, else 0, and whether they do.
struct tuple_i32_bool { int32 v0; bool v1; };
template <class T> DEV tuple_i32_bool match_all(uint32 mask, T value) {
    int same = 0;
    const uint32 lanes = __match_all_sync(mask, value, &same);
    return {(int32)lanes, same != 0};
}
