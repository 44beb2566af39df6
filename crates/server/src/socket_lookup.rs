//! Finds the other end of a TCP connection on this machine, by asking the kernel (`sock_diag(7)`), or by reading
//! `/proc/net` where that is not supported.

use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

/// A socket of a process on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LocalSocket {
    /// Inode of the socket; 0 if no process has it open any more.
    pub(crate) inode: u64,
    /// User that created it.
    pub(crate) user: u32,
}

const REQUEST_BYTES: usize = 72;
const MESSAGE_HEADER_BYTES: usize = 16;
/// Length of an answer up to the inode, with its header.
const ANSWER_BYTES: usize = 88;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const IPPROTO_TCP: u8 = 6;
/// `TCP_LISTEN`: the kernel answers with the listener of a port if it has no such connection.
const STATE_LISTEN: u8 = 10;
/// The cookie that stands for any socket.
const ANY_COOKIE: [u8; 8] = [0xff; 8];

/// Finds the socket that is connected from `from` to `to`. `None` if there is none on this machine.
pub(crate) fn find_connected(from: SocketAddr, to: SocketAddr) -> io::Result<Option<LocalSocket>> {
    let (from, to) = (canonical(from), canonical(to));
    query_kernel(from, to).or_else(|error| {
        tracing::debug!(%error, "sock_diag is not available; reading /proc/net");
        read_proc(from, to)
    })
}

/// Whether an address is one of this machine.
pub(crate) fn is_local(address: IpAddr) -> bool {
    let address = address.to_canonical();
    // Only an address of this machine can be bound.
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

/// An IPv4 address that a dual-stack listener sees as IPv6, as IPv4.
fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip @ IpAddr::V4(_) => SocketAddr::new(ip, address.port()),
        IpAddr::V6(_) => address,
    }
}

fn query_kernel(from: SocketAddr, to: SocketAddr) -> io::Result<Option<LocalSocket>> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))?;
    sendto(&socket, &encode_request(from, to), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0_u8; 512];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    decode_answer(&answer[..length], to)
}

/// Encodes an `inet_diag_req_v2` for one connection.
fn encode_request(from: SocketAddr, to: SocketAddr) -> [u8; REQUEST_BYTES] {
    let mut request = [0; REQUEST_BYTES];
    let mut put = |at: usize, bytes: &[u8]| request[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &u32::try_from(REQUEST_BYTES).unwrap_or(0).to_ne_bytes());
    put(4, &SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    put(6, &NLM_F_REQUEST.to_ne_bytes());
    let family = if from.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    put(16, &[u8::try_from(family.as_raw()).unwrap_or(0), IPPROTO_TCP]);
    put(20, &u32::MAX.to_ne_bytes());
    put(24, &from.port().to_be_bytes());
    put(26, &to.port().to_be_bytes());
    let mut put_address = |at: usize, address: IpAddr| match address {
        IpAddr::V4(address) => put(at, &address.octets()),
        IpAddr::V6(address) => put(at, &address.octets()),
    };
    put_address(28, from.ip());
    put_address(44, to.ip());
    if let SocketAddr::V6(from) = from {
        put(60, &from.scope_id().to_ne_bytes());
    }
    put(64, &ANY_COOKIE);
    request
}

/// Decodes an `inet_diag_msg`, or an error.
fn decode_answer(answer: &[u8], to: SocketAddr) -> io::Result<Option<LocalSocket>> {
    let number = |at: usize| answer.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes);
    let too_short = || io::Error::other("the kernel's answer is too short");
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    match kind {
        Some(SOCK_DIAG_BY_FAMILY) if answer.len() >= ANSWER_BYTES => {
            let state = answer[MESSAGE_HEADER_BYTES + 1];
            let remote_port = u16::from_be_bytes([answer[22], answer[23]]);
            if state == STATE_LISTEN || remote_port != to.port() {
                return Ok(None);
            }
            let (user, inode) = (number(80).ok_or_else(too_short)?, number(84).ok_or_else(too_short)?);
            Ok(Some(LocalSocket { inode: inode.into(), user }))
        }
        Some(NLMSG_ERROR) => {
            let code = number(MESSAGE_HEADER_BYTES).ok_or_else(too_short)?.cast_signed();
            let error = io::Error::from_raw_os_error(-code);
            if error.kind() == io::ErrorKind::NotFound { Ok(None) } else { Err(error) }
        }
        _ => Err(too_short()),
    }
}

/// Finds the connection in `/proc/net/tcp` or `/proc/net/tcp6`. An IPv4 connection may be in either.
fn read_proc(from: SocketAddr, to: SocketAddr) -> io::Result<Option<LocalSocket>> {
    let mut files = vec![("/proc/net/tcp6", to_mapped(from), to_mapped(to))];
    if from.is_ipv4() {
        files.insert(0, ("/proc/net/tcp", from, to));
    }
    let mut result = Err(io::ErrorKind::NotFound.into());
    for (file, from, to) in files {
        // A machine without IPv6 has no `tcp6`.
        let Ok(table) = std::fs::read_to_string(file) else { continue };
        result = Ok(find_in_table(&table, from, to));
        if let Ok(Some(_)) = result {
            return result;
        }
    }
    result
}

fn to_mapped(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
        IpAddr::V6(_) => address,
    }
}

fn find_in_table(table: &str, from: SocketAddr, to: SocketAddr) -> Option<LocalSocket> {
    let (from, to) = (table_address(from), table_address(to));
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_wanted = fields.get(1) == Some(&from.as_str()) && fields.get(2) == Some(&to.as_str());
        is_wanted
            .then(|| Some(LocalSocket { user: fields.get(7)?.parse().ok()?, inode: fields.get(9)?.parse().ok()? }))?
    })
}

/// An address as the tables write it: groups of four bytes in the machine's byte order, and the port.
fn table_address(address: SocketAddr) -> String {
    let octets = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let mut text = String::new();
    for group in octets.chunks_exact(4).filter_map(|group| group.try_into().ok().map(u32::from_ne_bytes)) {
        // Writing to a `String` does not fail.
        let _ = write!(text, "{group:08X}");
    }
    let _ = write!(text, ":{:04X}", address.port());
    text
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn inode(socket: &impl AsRawFd) -> u64 {
        std::fs::metadata(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap().ino()
    }

    #[test]
    fn the_client_of_a_connection_is_found() {
        for (listen, connect) in
            [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("::", "127.0.0.1"), ("0.0.0.0", "127.1.2.3")]
        {
            let Ok(listener) = TcpListener::bind((listen, 0)) else { continue };
            let client = TcpStream::connect((connect, listener.local_addr().unwrap().port())).unwrap();
            let (server, peer) = listener.accept().unwrap();
            let local = server.local_addr().unwrap();
            let expected = Some(LocalSocket { inode: inode(&client), user: rustix::process::geteuid().as_raw() });
            assert_eq!(find_connected(peer, local).unwrap(), expected, "{listen}");
            assert_eq!(read_proc(canonical(peer), canonical(local)).unwrap(), expected, "{listen}");
            drop(client);
            let closed = find_connected(peer, local).unwrap();
            assert!(closed.is_none_or(|socket| socket.inode == 0), "{closed:?}");
        }
    }

    #[test]
    fn a_connection_that_does_not_exist_is_not_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        // The second one is the listener itself, which is no connection.
        for from in ["127.0.0.1:9".parse().unwrap(), local] {
            assert_eq!(find_connected(from, "127.0.0.1:1".parse().unwrap()).unwrap(), None);
            assert_eq!(read_proc(from, "127.0.0.1:1".parse().unwrap()).unwrap(), None);
        }
    }

    #[test]
    fn addresses_of_this_machine_are_local() {
        for local in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            assert!(is_local(local.parse().unwrap()), "{local}");
        }
        for remote in ["203.0.113.7", "2001:db8::7"] {
            assert!(!is_local(remote.parse().unwrap()), "{remote}");
        }
    }

    #[test]
    fn an_answer_that_is_cut_off_is_an_error() {
        assert!(decode_answer(&[0; 4], "127.0.0.1:1".parse().unwrap()).is_err());
        assert!(decode_answer(&[], "127.0.0.1:1".parse().unwrap()).is_err());
    }
}
