// The mask of a warp that holds one value, and whether it does.
struct tuple_i32_bool { int32 v0; bool v1; };
template <class T> DEV tuple_i32_bool match_all(uint32 mask, T value) {
    int same = 0;
    const uint32 lanes = __match_all_sync(mask, value, &same);
    return {(int32)lanes, same != 0};
}
