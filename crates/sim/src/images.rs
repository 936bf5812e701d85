//! Images, which are what NVRTC returns and the driver loads. An image holds its source. It is compiled when it is
//! loaded, together with all others that wait for it, because one start of the compiler costs more than a kernel.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::compiler::{self, Source};
use crate::settings::settings;

/// What every image starts with. The length of the rest follows, as eight bytes.
const MAGIC: &[u8; 8] = b"CUPROSIM";
/// Sources that are compiled together.
const BATCH: usize = 12;
/// Files of a folder that processes lock while they compile, chosen by the key of a source.
const LOCKS: u64 = 64;

/// Where a compiled source is: the library and its position there.
pub(crate) type Location = (PathBuf, usize);

struct Images {
    /// Sources that were never loaded, in the order in which they came.
    waiting: Vec<(u64, Source)>,
    ready: HashMap<u64, Location>,
}

static IMAGES: Mutex<Option<Images>> = Mutex::new(None);

fn key(source: &Source) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&source.name, &source.text, &source.options, source.generated, &settings().flags).hash(&mut hasher);
    hasher.finish()
}

/// Returns an image of a source, which will be compiled when an image is loaded.
pub(crate) fn image(source: Source) -> Vec<u8> {
    let origin = if source.generated { "generated" } else { "user" };
    let parts = [source.name.as_str(), &source.options.join("\u{1}"), origin, &source.text].join("\0");
    let mut image = MAGIC.to_vec();
    image.extend((parts.len() as u64).to_ne_bytes());
    image.extend(parts.into_bytes());
    let mut images = IMAGES.lock().unwrap_or_else(PoisonError::into_inner);
    let images = images.get_or_insert_with(|| Images { waiting: Vec::new(), ready: HashMap::new() });
    images.waiting.push((key(&source), source));
    image
}

/// Returns the source of an image. `None` if it is not one.
///
/// # Safety
/// The address leads to an image of `image`, or to at least eight bytes of something else.
pub(crate) unsafe fn source(image: *const u8) -> Option<Source> {
    // SAFETY: the caller ensures it: an image holds its own length.
    let parts = unsafe {
        if std::slice::from_raw_parts(image, MAGIC.len()) != MAGIC {
            return None;
        }
        let length = image.add(MAGIC.len()).cast::<u64>().read_unaligned();
        std::slice::from_raw_parts(image.add(MAGIC.len() + 8), length as usize)
    };
    let mut parts = std::str::from_utf8(parts).ok()?.splitn(4, '\0');
    let (name, options) = (parts.next()?.into(), parts.next()?);
    let (generated, text) = (parts.next()? == "generated", parts.next()?.into());
    let options = options.split('\u{1}').filter(|option| !option.is_empty()).map(String::from).collect();
    Some(Source { name, text, options, generated })
}

/// Returns where a source is compiled, after compiling it if it was not, with the others that wait.
///
/// # Errors
/// The source has errors, or there is no compiler.
pub(crate) fn locate(source: &Source) -> Result<Location, String> {
    let wanted = key(source);
    let mut images = IMAGES.lock().unwrap_or_else(PoisonError::into_inner);
    let images = images.get_or_insert_with(|| Images { waiting: Vec::new(), ready: HashMap::new() });
    if let Some(found) = images.find(wanted)? {
        return Ok(found);
    }
    // Ranks of a job need the same kernels at the same time: one of them compiles, and the others read what it made.
    let _only_here = lock(wanted)?;
    if let Some(found) = images.find(wanted)? {
        return Ok(found);
    }
    let mut batch = vec![(wanted, source.clone())];
    for (key, source) in std::mem::take(&mut images.waiting) {
        if batch.iter().all(|(other, _)| *other != key) && images.find(key)?.is_none() {
            batch.push((key, source));
        }
    }
    let (together, alone): (Vec<_>, Vec<_>) = batch.into_iter().partition(|(_, source)| source.generated);
    let mut groups: Vec<Vec<(u64, Source)>> = alone.into_iter().map(|one| vec![one]).collect();
    let size = together.len().div_ceil(2).clamp(BATCH / 3, BATCH);
    groups.extend(together.chunks(size).map(<[_]>::to_vec));
    let next = Mutex::new(groups.into_iter());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(group) = { next.lock().unwrap_or_else(PoisonError::into_inner).next() } {
                    let results = build(&group);
                    done.lock().unwrap_or_else(PoisonError::into_inner).extend(results);
                }
            });
        }
    });
    let mut failure = format!("{}: it was not compiled", source.name);
    for (key, result) in done.into_inner().unwrap_or_else(PoisonError::into_inner) {
        match result {
            Ok(location) => drop(images.ready.insert(key, location)),
            Err(log) if key == wanted => failure = log,
            // The error is reported to the thread that loads that image.
            Err(_) => {}
        }
    }
    images.ready.get(&wanted).cloned().ok_or(failure)
}

/// Keeps other processes from compiling the source of that key, until the result is dropped.
fn lock(key: u64) -> Result<File, String> {
    let path = compiler::folder()?.join(format!("lock-{:02x}", key % LOCKS));
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let locked = file.and_then(|file| file.lock().map(|()| file));
    locked.map_err(|e| format!("{}: {e}", path.display()))
}

/// Compiles sources together, or, if that fails, one by one.
fn build(group: &[(u64, Source)]) -> Vec<(u64, Result<Location, String>)> {
    let compile = |group: &[(u64, Source)]| -> Result<PathBuf, String> {
        let folder = compiler::folder()?;
        // Another process may compile the same first source together with others.
        let library = folder.join(format!("{:016x}-{}-{}.so", group[0].0, group.len(), std::process::id()));
        let sources: Vec<Source> = group.iter().map(|(_, source)| source.clone()).collect();
        compiler::build(&sources, &library)?;
        for (k, (key, _)) in group.iter().enumerate() {
            let entry = folder.join(format!("{key:016x}"));
            let temporary = entry.with_extension(std::process::id().to_string());
            let name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let written = std::fs::write(&temporary, format!("{name} {k}"));
            written
                .and_then(|()| std::fs::rename(&temporary, &entry))
                .map_err(|e| format!("{}: {e}", entry.display()))?;
        }
        Ok(library)
    };
    match compile(group) {
        Ok(library) => group.iter().enumerate().map(|(k, (key, _))| (*key, Ok((library.clone(), k)))).collect(),
        Err(log) if group.len() == 1 => vec![(group[0].0, Err(log))],
        Err(_) => group.chunks(1).flat_map(build).collect(),
    }
}

impl Images {
    /// Looks a source up in memory and in the folder of libraries.
    fn find(&mut self, key: u64) -> Result<Option<Location>, String> {
        if let Some(location) = self.ready.get(&key) {
            return Ok(Some(location.clone()));
        }
        let folder = compiler::folder()?;
        let Ok(entry) = std::fs::read_to_string(folder.join(format!("{key:016x}"))) else { return Ok(None) };
        let location = entry.split_once(' ').and_then(|(name, k)| Some((folder.join(name), k.parse().ok()?)));
        let location = location.filter(|(library, _)| library.exists());
        if let Some(location) = &location {
            self.ready.insert(key, location.clone());
        }
        Ok(location)
    }
}
