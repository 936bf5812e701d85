//! The requests of PyTorch's TCPStore: a command byte, then little-endian numbers and byte strings with 64-bit lengths.

/// The longest key, as in PyTorch.
pub const MAX_KEY: usize = 8 << 10;
/// The longest value, as in PyTorch.
pub const MAX_VALUE: usize = 8 << 20;
/// The most keys of a request.
const MAX_KEYS: u64 = 128 << 10;
/// What a client sends first.
pub(crate) const MAGIC: u32 = 0x3C85_F7CE;
/// The number of that request.
pub(crate) const VALIDATE: u8 = 0;

/// Answers to `Check` and `Wait`.
pub(crate) const READY: u8 = 0;
pub(crate) const NOT_READY: u8 = 1;
pub(crate) const STOP_WAITING: u8 = 0;
pub(crate) const WAIT_CANCELED: u8 = 1;

/// A request of a client. The number of each is PyTorch's.
#[derive(Clone, PartialEq, Debug)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are PyTorch's")]
pub enum Request {
    Validate(u32) = 0,
    Set(String, Vec<u8>) = 1,
    CompareSet(String, Vec<u8>, Vec<u8>) = 2,
    Get(String) = 3,
    Add(String, i64) = 4,
    Check(Vec<String>) = 5,
    Wait(Vec<String>) = 6,
    GetNumKeys = 7,
    DeleteKey(String) = 8,
    Append(String, Vec<u8>) = 9,
    MultiGet(Vec<String>) = 10,
    MultiSet(Vec<(String, Vec<u8>)>) = 11,
    CancelWait = 12,
    Ping(u32) = 13,
    QueuePush(String, Vec<u8>) = 14,
    QueuePop(String) = 15,
    QueueLen(String) = 16,
    ListKeys = 17,
}

/// Why bytes are not (yet) a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Incomplete {
    /// More bytes must arrive.
    More,
    /// No request begins like this.
    Never,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Incomplete> {
        let part = self.bytes.get(self.at..self.at + count).ok_or(Incomplete::More)?;
        self.at += count;
        Ok(part)
    }

    fn u32(&mut self) -> Result<u32, Incomplete> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes")))
    }

    fn u64(&mut self) -> Result<u64, Incomplete> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().expect("eight bytes")))
    }

    fn bytes(&mut self, most: usize) -> Result<&'a [u8], Incomplete> {
        let length = self.u64()?;
        if length > most as u64 {
            return Err(Incomplete::Never);
        }
        self.take(length as usize)
    }

    fn key(&mut self) -> Result<String, Incomplete> {
        String::from_utf8(self.bytes(MAX_KEY)?.to_vec()).map_err(|_| Incomplete::Never)
    }

    fn value(&mut self) -> Result<Vec<u8>, Incomplete> {
        Ok(self.bytes(MAX_VALUE)?.to_vec())
    }

    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Result<T, Incomplete>) -> Result<Vec<T>, Incomplete> {
        let count = self.u64()?;
        if count > MAX_KEYS {
            return Err(Incomplete::Never);
        }
        (0..count).map(|_| item(self)).collect()
    }
}

/// Returns the request at the beginning of `bytes` and its length.
///
/// # Errors
/// More bytes must arrive, or no request begins like this.
pub fn parse(bytes: &[u8]) -> Result<(Request, usize), Incomplete> {
    let mut r = Reader { bytes, at: 0 };
    let request = match r.take(1)?[0] {
        0 => Request::Validate(r.u32()?),
        1 => Request::Set(r.key()?, r.value()?),
        2 => Request::CompareSet(r.key()?, r.value()?, r.value()?),
        3 => Request::Get(r.key()?),
        4 => Request::Add(r.key()?, r.u64()? as i64),
        5 => Request::Check(r.list(Reader::key)?),
        6 => Request::Wait(r.list(Reader::key)?),
        7 => Request::GetNumKeys,
        8 => Request::DeleteKey(r.key()?),
        9 => Request::Append(r.key()?, r.value()?),
        10 => Request::MultiGet(r.list(Reader::key)?),
        11 => Request::MultiSet(r.list(|r| Ok((r.key()?, r.value()?)))?),
        12 => Request::CancelWait,
        13 => Request::Ping(r.u32()?),
        14 => Request::QueuePush(r.key()?, r.value()?),
        15 => Request::QueuePop(r.key()?),
        16 => Request::QueueLen(r.key()?),
        17 => Request::ListKeys,
        _ => return Err(Incomplete::Never),
    };
    Ok((request, r.at))
}

/// Appends a byte string with its length.
pub(crate) fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend(bytes);
}

impl Request {
    /// Returns the bytes that a client sends.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let list = |out: &mut Vec<u8>, keys: &[String]| {
            out.extend((keys.len() as u64).to_le_bytes());
            keys.iter().for_each(|key| put(out, key.as_bytes()));
        };
        let mut command = |number: u8| out.push(number);
        match self {
            Request::Validate(magic) => {
                command(0);
                out.extend(magic.to_le_bytes());
            }
            Request::Set(key, value) | Request::Append(key, value) | Request::QueuePush(key, value) => {
                command(match self {
                    Request::Set(..) => 1,
                    Request::Append(..) => 9,
                    _ => 14,
                });
                put(&mut out, key.as_bytes());
                put(&mut out, value);
            }
            Request::CompareSet(key, expected, desired) => {
                command(2);
                [key.as_bytes(), expected, desired].iter().for_each(|part| put(&mut out, part));
            }
            Request::Get(key) | Request::DeleteKey(key) | Request::QueuePop(key) | Request::QueueLen(key) => {
                command(match self {
                    Request::Get(_) => 3,
                    Request::DeleteKey(_) => 8,
                    Request::QueuePop(_) => 15,
                    _ => 16,
                });
                put(&mut out, key.as_bytes());
            }
            Request::Add(key, amount) => {
                command(4);
                put(&mut out, key.as_bytes());
                out.extend(amount.to_le_bytes());
            }
            Request::Check(keys) | Request::Wait(keys) | Request::MultiGet(keys) => {
                command(match self {
                    Request::Check(_) => 5,
                    Request::Wait(_) => 6,
                    _ => 10,
                });
                list(&mut out, keys);
            }
            Request::MultiSet(pairs) => {
                command(11);
                out.extend((pairs.len() as u64).to_le_bytes());
                for (key, value) in pairs {
                    put(&mut out, key.as_bytes());
                    put(&mut out, value);
                }
            }
            Request::GetNumKeys => command(7),
            Request::CancelWait => command(12),
            Request::ListKeys => command(17),
            Request::Ping(nonce) => {
                command(13);
                out.extend(nonce.to_le_bytes());
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples() -> Vec<Request> {
        let (k, v) = (|| "key".to_owned(), || vec![1, 2, 3]);
        vec![
            Request::Validate(MAGIC),
            Request::Set(k(), v()),
            Request::CompareSet(k(), v(), vec![]),
            Request::Get(k()),
            Request::Add(k(), -5),
            Request::Check(vec![k(), k()]),
            Request::Wait(vec![]),
            Request::GetNumKeys,
            Request::DeleteKey(k()),
            Request::Append(k(), v()),
            Request::MultiGet(vec![k()]),
            Request::MultiSet(vec![(k(), v()), (k(), vec![])]),
            Request::CancelWait,
            Request::Ping(7),
            Request::QueuePush(k(), v()),
            Request::QueuePop(k()),
            Request::QueueLen(k()),
            Request::ListKeys,
        ]
    }

    #[test]
    fn requests_survive_encoding_and_wait_for_their_end() {
        for request in examples() {
            let bytes = request.encode();
            assert_eq!(parse(&bytes), Ok((request.clone(), bytes.len())));
            for cut in 0..bytes.len() {
                assert_eq!(parse(&bytes[..cut]), Err(Incomplete::More), "{request:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn lengths_are_not_believed() {
        let mut huge = vec![1];
        huge.extend(u64::MAX.to_le_bytes());
        assert_eq!(parse(&huge), Err(Incomplete::Never));
        let mut many = vec![6];
        many.extend((MAX_KEYS + 1).to_le_bytes());
        assert_eq!(parse(&many), Err(Incomplete::Never));
        let mut state = 1u64;
        for round in 0..200_000 {
            let all = examples();
            let mut bytes = all[round % all.len()].encode();
            for _ in 0..1 + round % 3 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let at = (state >> 33) as usize % bytes.len();
                bytes[at] = (state >> 56) as u8;
            }
            if let Ok((request, length)) = parse(&bytes) {
                assert_eq!(request.encode(), bytes[..length]);
            }
        }
    }
}
