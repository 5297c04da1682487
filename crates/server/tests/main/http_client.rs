//! A client that writes requests as they are, and takes answers apart.

use chalet_server::Server;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// An open connection.
pub struct Client(BufReader<TcpStream>);

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The body ended as it should.
    pub is_whole: bool,
}

impl Answer {
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

impl Client {
    pub fn of(server: &Server) -> Client {
        Client(BufReader::new(TcpStream::connect(server.http().unwrap()).unwrap()))
    }

    pub fn socket(&self) -> &TcpStream {
        self.0.get_ref()
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    /// Sends a request with a body, and gives the answer.
    pub fn request(&mut self, head: &str, body: &[u8]) -> Answer {
        self.send(format!("{head}\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes());
        self.send(body);
        self.answer()
    }

    /// POST of a statement to this target.
    pub fn post(&mut self, target: &str, statement: &str) -> Answer {
        self.request(&format!("POST {target} HTTP/1.1"), statement.as_bytes())
    }

    pub fn get(&mut self, target: &str) -> Answer {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes());
        self.answer()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub fn answer(&mut self) -> Answer {
        let first = self.line();
        let status =
            first.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {first:?}")).parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_owned(), value.to_owned()));
        }
        let mut answer = Answer { status, headers, body: Vec::new(), is_whole: true };
        if status == 100 {
            return answer;
        }
        if answer.header("Transfer-Encoding") == "chunked" {
            loop {
                let line = self.line();
                let Ok(n) = u64::from_str_radix(&line, 16) else {
                    answer.is_whole = false;
                    break;
                };
                (&mut self.0).take(n).read_to_end(&mut answer.body).unwrap();
                self.line();
                if n == 0 {
                    break;
                }
            }
        } else if let Ok(n) = answer.header("Content-Length").parse() {
            (&mut self.0).take(n).read_to_end(&mut answer.body).unwrap();
            answer.is_whole = answer.body.len() as u64 == n;
        } else {
            self.0.read_to_end(&mut answer.body).unwrap();
        }
        answer
    }
}
