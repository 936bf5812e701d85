//! The proof that both ends of a connection know the job's token, before either believes a length.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::failure::{Failure, Result};

const MAGIC: &[u8; 8] = b"CuprAuth";
const NONCE: usize = 32;
const PROOF: usize = 32;
/// How long the other end may take for all of it.
pub(crate) const TIME: Duration = Duration::from_secs(5);

fn proof(token: &[u8], role: u8, nonces: [&[u8]; 2], purpose: &[u8; 16]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(token).expect("any length is a key");
    for part in [&[role][..], nonces[0], nonces[1], purpose] {
        mac.update(part);
    }
    mac
}

/// Fills `to`, until that time.
fn read_until(socket: &mut TcpStream, mut to: &mut [u8], end: Instant) -> std::io::Result<()> {
    while !to.is_empty() {
        let left = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        socket.set_read_timeout(Some(left.ok_or(ErrorKind::TimedOut)?))?;
        match socket.read(to) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => to = &mut to[count..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Proves the token to the other end and checks its proof. `connects` is true on the end that connected. Both ends
/// give the same `purpose`, so that a proof is of no use elsewhere, and the connecting end's number is returned by the
/// other.
///
/// # Errors
/// `Network` if the other end does not know the token or speaks another protocol, `Backend` if it ended or takes longer than
/// five seconds.
pub(crate) fn prove(socket: &mut TcpStream, token: &[u8], purpose: &str, connects: bool, number: u32) -> Result<u32> {
    let wrong = |what: &str| Failure::network(format!("a connection was refused: {what}"));
    let io = |e: std::io::Error| Failure::backend(format!("a connection ended during the handshake: {e}"));
    let end = Instant::now() + TIME;
    socket.set_write_timeout(Some(TIME)).map_err(io)?;
    let mut own = [0; NONCE];
    std::fs::File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut own)).map_err(io)?;
    let mut padded = [0; 16];
    for (to, from) in padded.iter_mut().zip(purpose.bytes().rev()) {
        *to = from;
    }
    let mut hello = Vec::from(MAGIC);
    hello.extend(own);
    hello.extend(number.to_le_bytes());
    socket.write_all(&hello).map_err(io)?;
    let mut other = [0; MAGIC.len() + NONCE + 4];
    read_until(socket, &mut other, end).map_err(io)?;
    if other[..8] != MAGIC[..] {
        return Err(wrong("the other end is not a rank of this job"));
    }
    let theirs = &other[8..8 + NONCE];
    let (first, second): (&[u8], &[u8]) = if connects { (&own, theirs) } else { (theirs, &own) };
    // The connecting rank's number is part of the proof.
    let claimed = u32::from_le_bytes(other[8 + NONCE..].try_into().expect("four bytes"));
    let rank = if connects { number } else { claimed };
    let with_rank = |role: u8| {
        let mut mac = proof(token, role, [first, second], &padded);
        mac.update(&rank.to_le_bytes());
        mac
    };
    socket.write_all(&with_rank(connects.into()).finalize().into_bytes()).map_err(io)?;
    let mut answer = [0; PROOF];
    read_until(socket, &mut answer, end).map_err(io)?;
    // `verify_slice` takes the same time wherever the proofs differ.
    with_rank((!connects).into())
        .verify_slice(&answer)
        .map_err(|_| wrong("the other end has another CUPROUS_JOB_TOKEN"))?;
    socket.set_read_timeout(None).map_err(io)?;
    socket.set_write_timeout(None).map_err(io)?;
    Ok(claimed)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn both(server: &'static [u8], client: &'static [u8]) -> (Result<u32>, Result<u32>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let other = std::thread::spawn(move || {
            let mut socket = TcpStream::connect(address).unwrap();
            prove(&mut socket, client, "control", true, 7)
        });
        let (mut socket, _) = listener.accept().unwrap();
        let own = prove(&mut socket, server, "control", false, 0);
        drop(socket);
        (own, other.join().unwrap())
    }

    #[test]
    fn the_token_decides() {
        let (own, other) = both(b"secret", b"secret");
        assert_eq!((own.unwrap(), other.unwrap()), (7, 0));
        let (own, other) = both(b"secret", b"guess");
        assert!(own.unwrap_err().message.contains("CUPROUS_JOB_TOKEN") && other.is_err());
    }

    #[test]
    fn strangers_are_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let other = std::thread::spawn(move || {
            let mut socket = TcpStream::connect(address).unwrap();
            socket.write_all(&[b'G'; 200]).unwrap();
            let mut answer = Vec::new();
            let _ = socket.read_to_end(&mut answer);
        });
        let (mut socket, _) = listener.accept().unwrap();
        let refused = prove(&mut socket, b"secret", "control", false, 0).unwrap_err();
        assert!(refused.message.contains("not a rank of this job"), "{refused}");
        drop(socket);
        other.join().unwrap();
    }
}
