//! The cache with damaged files, competing writers and unusable folders.

use super::*;
use std::os::unix::fs::PermissionsExt as _;

/// A folder of its own for each test, removed at the end.
struct TempDir(PathBuf);

impl TempDir {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("cuprous-cache-test-{}", temp_name()));
        TempDir(path)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _may_be_gone = fs::remove_dir_all(&self.0);
    }
}

fn key(source: &str) -> CacheKey {
    CacheKey::new(source, &CompileOptions::new("sm_90"), "13.5")
}

fn file_of(dir: &TempDir, key: &CacheKey) -> PathBuf {
    dir.0.join(key.file_name())
}

#[test]
fn the_key_depends_on_everything() {
    let options = CompileOptions::new("sm_90");
    let base = CacheKey::new("a", &options, "13.5");
    assert_eq!(base, CacheKey::new("a", &options.clone(), "13.5"));
    assert_ne!(base, CacheKey::new("b", &options, "13.5"));
    assert_ne!(base, CacheKey::new("a", &options, "13.4"));
    assert_ne!(base, CacheKey::new("a", &CompileOptions::new("sm_80"), "13.5"));
    assert_ne!(base, CacheKey::new("a", &CompileOptions { fmad: false, ..options.clone() }, "13.5"));
    assert_ne!(base, CacheKey::new("a", &CompileOptions { fast_compile: true, ..options.clone() }, "13.5"));
    let extra = vec!["--use_fast_math".to_owned()];
    assert_ne!(base, CacheKey::new("a", &CompileOptions { extra, ..options }, "13.5"));
}

#[test]
fn an_entry_is_found_by_another_process() {
    let dir = TempDir::new();
    let cache = DiskCache::open(&dir.0, 1 << 20);
    assert_eq!(cache.disabled_because(), None);
    assert!(cache.get(&key("a")).is_none());
    cache.put(&key("a"), b"code");
    let other = DiskCache::open(&dir.0, 1 << 20);
    assert_eq!(other.get(&key("a")).as_deref(), Some(&b"code"[..]));
    assert!(other.get(&key("b")).is_none());
    assert_eq!(fs::metadata(&dir.0).expect("made").mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(file_of(&dir, &key("a"))).expect("written").mode() & 0o777, 0o600);
}

#[test]
fn damaged_files_are_ignored_and_overwritten() {
    let dir = TempDir::new();
    let cache = DiskCache::open(&dir.0, 1 << 20);
    let path = file_of(&dir, &key("a"));
    cache.put(&key("a"), b"some code");
    let sound = fs::read(&path).expect("written");
    for position in 0..sound.len() {
        let mut damaged = sound.clone();
        damaged[position] ^= 0x40;
        fs::write(&path, damaged).expect("writable");
        assert!(cache.get(&key("a")).is_none(), "byte {position}");
    }
    for length in 0..sound.len() {
        fs::write(&path, &sound[..length]).expect("writable");
        assert!(cache.get(&key("a")).is_none(), "cut to {length}");
    }
    fs::write(&path, [&sound[..], b"more"].concat()).expect("writable");
    assert!(cache.get(&key("a")).is_none(), "longer");
    cache.put(&key("a"), b"some code");
    assert_eq!(cache.get(&key("a")).as_deref(), Some(&b"some code"[..]));
}

#[test]
fn a_file_of_another_key_is_ignored() {
    let dir = TempDir::new();
    let cache = DiskCache::open(&dir.0, 1 << 20);
    cache.put(&key("a"), b"code of a");
    fs::copy(file_of(&dir, &key("a")), file_of(&dir, &key("b"))).expect("copied");
    assert!(cache.get(&key("b")).is_none());
}

#[test]
fn writers_do_not_disturb_one_another() {
    let dir = TempDir::new();
    let cubin = vec![7u8; 100_000];
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let cache = DiskCache::open(&dir.0, 1 << 30);
                for _ in 0..50 {
                    cache.put(&key("a"), &cubin);
                    assert_eq!(cache.get(&key("a")).as_deref(), Some(&cubin[..]));
                }
            });
        }
    });
    let left = fs::read_dir(&dir.0).expect("there").count();
    assert_eq!(left, 1, "no temporary file is left");
}

#[test]
fn without_a_folder_entries_are_kept_in_memory() {
    let dir = TempDir::new();
    fs::write(&dir.0, b"a file in the way").expect("writable");
    let cache = DiskCache::open(&dir.0, 1 << 20);
    assert!(cache.disabled_because().is_some());
    cache.put(&key("a"), b"code");
    assert_eq!(cache.get(&key("a")).as_deref(), Some(&b"code"[..]));
    let _may_be_gone = fs::remove_file(&dir.0);
}

#[test]
fn a_folder_that_is_removed_is_not_an_error() {
    let dir = TempDir::new();
    let cache = DiskCache::open(&dir.0, 1 << 20);
    fs::remove_dir_all(&dir.0).expect("removed");
    cache.put(&key("a"), b"code");
    assert_eq!(cache.get(&key("a")).as_deref(), Some(&b"code"[..]));
}

#[test]
fn a_folder_open_to_others_is_not_used() {
    let dir = TempDir::new();
    fs::create_dir(&dir.0).expect("made");
    fs::set_permissions(&dir.0, fs::Permissions::from_mode(0o777)).expect("ours");
    let cache = DiskCache::open(&dir.0, 1 << 20);
    assert!(cache.disabled_because().is_some_and(|why| why.contains("chmod 700")));
}

#[test]
fn the_oldest_files_are_removed_first() {
    let dir = TempDir::new();
    let cache = DiskCache::open(&dir.0, 4_000);
    for (age, name) in [(40, "a"), (10, "b"), (30, "c"), (20, "d")] {
        write(&dir.0, &key(name), &[0; 1_000]).expect("writable");
        let file = File::options().append(true).open(file_of(&dir, &key(name))).expect("there");
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).expect("ours");
    }
    cache.prune();
    let left = ["a", "b", "c", "d"].map(|name| cache.get(&key(name)).is_some());
    assert_eq!(left, [false, true, false, true]);
}
