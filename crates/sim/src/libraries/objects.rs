//! Handles and descriptors. To the caller they are pointers; here they are numbers in a table, so a wrong or destroyed
//! one is an error and not undefined behavior.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

type Objects = BTreeMap<usize, Box<dyn Any + Send>>;

static OBJECTS: Mutex<Objects> = Mutex::new(Objects::new());
static LAST: AtomicUsize = AtomicUsize::new(0);

fn objects() -> MutexGuard<'static, Objects> {
    OBJECTS.lock().unwrap_or_else(|e| e.into_inner())
}

/// Keeps a value and returns its number, which is never reused.
pub(super) fn create<T: Any + Send>(value: T) -> usize {
    let id = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    objects().insert(id, Box::new(value));
    id
}

/// Returns a copy of a value. `None` if there is no such value of this type.
pub(super) fn get<T: Any + Clone>(id: usize) -> Option<T> {
    objects().get(&id)?.downcast_ref().cloned()
}

/// Changes a value. `None` if there is no such value of this type.
pub(super) fn update<T: Any, R>(id: usize, change: impl FnOnce(&mut T) -> R) -> Option<R> {
    objects().get_mut(&id)?.downcast_mut().map(change)
}

/// Drops a value. `None` if there is no such value of this type.
pub(super) fn destroy<T: Any>(id: usize) -> Option<()> {
    let mut objects = objects();
    objects.get(&id)?.downcast_ref::<T>()?;
    objects.remove(&id).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_number_and_type_until_destroyed() {
        let id = create(5u8);
        assert_eq!((get::<u8>(id), get::<u16>(id)), (Some(5), None));
        assert_eq!(update(id, |x: &mut u8| *x += 1), Some(()));
        assert_eq!(get::<u8>(id), Some(6));
        assert_eq!((destroy::<u16>(id), destroy::<u8>(id), destroy::<u8>(id)), (None, Some(()), None));
        assert_eq!(get::<u8>(0), None);
    }
}
