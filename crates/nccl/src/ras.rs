//! NCCL's own watch over the ranks of a job (RAS): one process of each host answers questions about all of them on a port.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Where it answers unless the environment names another address.
const ADDRESS: &str = "localhost:28028";
const QUESTION: &[u8] = b"verbose status\n";
/// How long connecting and answering may take. NCCL asks the other processes meanwhile, and waits for one that is stopped;
/// the failure of this rank waits for the answer.
const CONNECT: Duration = Duration::from_millis(200);
const ANSWER: Duration = Duration::from_millis(500);
/// The longest answer that is shown.
const MOST: usize = 8 << 10;

/// Returns what it says, or `None` if it does not answer: it is off, or an older version of NCCL.
pub(crate) fn report() -> Option<String> {
    let address = std::env::var("NCCL_RAS_ADDR").unwrap_or_else(|_| ADDRESS.into());
    ask(&address)
}

fn ask(address: &str) -> Option<String> {
    let mut addresses = address.to_socket_addrs().ok()?;
    let mut socket = addresses.find_map(|address| TcpStream::connect_timeout(&address, CONNECT).ok())?;
    socket.set_write_timeout(Some(CONNECT)).ok()?;
    socket.write_all(QUESTION).ok()?;
    let (end, mut answer, mut room) = (Instant::now() + ANSWER, Vec::new(), [0; 1 << 10]);
    while answer.len() < MOST {
        let left = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        let Some(left) = left else { break };
        socket.set_read_timeout(Some(left)).ok()?;
        match socket.read(&mut room) {
            Ok(count) if count > 0 => answer.extend(&room[..count]),
            _ => break,
        }
    }
    answer.truncate(MOST);
    let text = String::from_utf8_lossy(&answer).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Answers one question with these parts, and closes the connection or keeps it open.
    fn answering(parts: Vec<Vec<u8>>, stays_open: bool) -> Option<String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut question = [0; QUESTION.len()];
            socket.read_exact(&mut question).unwrap();
            assert_eq!(question, QUESTION);
            for part in parts {
                let _ = socket.write_all(&part);
            }
            stays_open.then_some(socket)
        });
        let answer = ask(&address);
        drop(server.join().unwrap());
        answer
    }

    #[test]
    fn the_answer_is_what_it_sends() {
        let parts = vec![b"Job summary\n".to_vec(), b"rank 1 is behind\n".to_vec()];
        assert_eq!(answering(parts.clone(), false).unwrap(), "Job summary\nrank 1 is behind");
        let start = Instant::now();
        assert_eq!(answering(parts, true).unwrap(), "Job summary\nrank 1 is behind");
        assert!(start.elapsed() < ANSWER + Duration::from_secs(5));
    }

    #[test]
    fn no_answer_and_too_much_are_no_error() {
        assert_eq!(answering(Vec::new(), false), None);
        assert_eq!(answering(vec![vec![b'a'; 1 << 20]], false).unwrap().len(), MOST);
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        assert_eq!(ask(&closed), None);
        assert_eq!(ask("no address"), None);
    }
}
