//! Changes to texts: of bytes, tokens, lines and numbers, and pieces of other files.

use hostwarp::syntax::{Lexer, TokenKind};
use hostwarp_torture::random::Random;
use std::collections::BTreeMap;
use std::ops::Range;

/// Real texts, and all that can be found in them.
pub struct Pool {
    texts: Vec<Vec<u8>>,
    /// Different tokens by their kind.
    tokens: BTreeMap<u8, Vec<Vec<u8>>>,
    all: Vec<Vec<u8>>,
}

/// Numbers at borders of types, windows and sizes.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "7",
    "8",
    "15",
    "16",
    "31",
    "32",
    "33",
    "63",
    "64",
    "255",
    "256",
    "1023",
    "1024",
    "4096",
    "65535",
    "65536",
    "524288",
    "2147483647",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "0x7fffffff",
    "0xffffffffffffffff",
    "0f7fc00000",
    "0fff800000",
    "0d7ff8000000000000",
    "1e38",
    "0.5",
];

fn spans(text: &[u8]) -> Vec<(TokenKind, Range<usize>)> {
    let Ok(text) = std::str::from_utf8(text) else { return vec![] };
    let mut lexer = Lexer::new(text);
    let mut out = vec![];
    loop {
        let token = lexer.next_token();
        if token.kind == TokenKind::Eof {
            return out;
        }
        out.push((token.kind, token.span.start as usize..token.span.end as usize));
    }
}

impl Pool {
    /// None without any text.
    pub fn new(texts: Vec<Vec<u8>>) -> Option<Pool> {
        let mut tokens: BTreeMap<u8, Vec<Vec<u8>>> = BTreeMap::new();
        for text in &texts {
            for (kind, at) in spans(text).into_iter().filter(|(kind, _)| !kind.is_comment()) {
                tokens.entry(kind as u8).or_default().push(text[at].to_vec());
            }
        }
        for of_kind in tokens.values_mut() {
            of_kind.sort();
            of_kind.dedup();
        }
        let all: Vec<Vec<u8>> = tokens.values().flatten().cloned().collect();
        (!texts.is_empty() && !all.is_empty()).then_some(Pool { texts, tokens, all })
    }

    /// The mutant with this seed: one of the texts with one to eight changes, mostly few.
    pub fn mutant(&self, seed: u64) -> Vec<u8> {
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut text = random.pick(&self.texts).clone();
        for _ in 0..1 << random.weighted(&[10, 4, 2, 1]) {
            self.change(&mut text, &mut random);
        }
        text
    }

    fn change(&self, text: &mut Vec<u8>, random: &mut Random) {
        match random.weighted(&[10, 4, 2]) {
            0 => self.change_token(text, random),
            1 => self.change_lines(text, random),
            _ => change_bytes(text, random),
        }
    }

    fn change_token(&self, text: &mut Vec<u8>, random: &mut Random) {
        let spans: Vec<_> = spans(text).into_iter().filter(|(kind, _)| !kind.is_comment()).collect();
        if spans.is_empty() {
            return;
        }
        let (kind, at) = random.pick(&spans).clone();
        let is_number = matches!(
            kind,
            TokenKind::Int | TokenKind::Float | TokenKind::FloatBits32 | TokenKind::FloatBits64
        );
        let new: Vec<u8> = match random.weighted(&[8, 2, 2, 2, 2]) {
            0 if is_number => random.pick(NUMBERS).as_bytes().to_vec(),
            // Something of its kind: another register, another modifier. One of this file is most likely right there.
            0 if random.percent(60) => {
                let alike: Vec<_> = spans.iter().filter(|(other, _)| *other == kind).collect();
                text[random.pick(&alike).1.clone()].to_vec()
            }
            0 => self.tokens.get(&(kind as u8)).map_or(vec![], |of_kind| random.pick(of_kind).clone()),
            1 => vec![],
            2 => [&text[at.clone()], b" ", &text[at.clone()]].concat(),
            3 => random.pick(&self.all).clone(),
            // That of another place.
            _ => text[random.pick(&spans).1.clone()].to_vec(),
        };
        text.splice(at, new);
    }

    fn change_lines(&self, text: &mut Vec<u8>, random: &mut Random) {
        let lines = |text: &[u8]| -> Vec<Vec<u8>> {
            text.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect()
        };
        let mut own = lines(text);
        if own.is_empty() {
            return;
        }
        let from = random.below(own.len());
        let to = own.len().min(from + 1 + random.below(4));
        match random.below(4) {
            0 => drop(own.drain(from..to)),
            1 => {
                let again = own[from..to].to_vec();
                let at = random.below(own.len() + 1);
                own.splice(at..at, again);
            }
            2 => {
                let other = random.below(own.len());
                own.swap(from, other);
            }
            _ => {
                let other = lines(random.pick::<Vec<u8>>(&self.texts));
                let first = random.below(other.len());
                let piece = other.iter().skip(first).take(1 + random.below(8)).cloned();
                own.splice(from..from, piece.collect::<Vec<_>>());
            }
        }
        *text = own.concat();
    }
}

fn change_bytes(text: &mut Vec<u8>, random: &mut Random) {
    if text.is_empty() {
        return;
    }
    let at = random.below(text.len());
    match random.below(4) {
        0 => text[at] ^= 1 << random.below(8),
        1 => text.insert(at, random.bits() as u8),
        2 => drop(text.remove(at)),
        _ if random.percent(20) => text.truncate(at),
        _ => {
            let end = text.len().min(at + 1 + random.below(40));
            text.drain(at..end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutants_differ_and_can_be_had_again() {
        let text = b".version 8.0\n.target sm_90\n.entry k() {\n  add.u32 %r1, %r2, 3;\n  ret;\n}\n".to_vec();
        let pool = Pool::new(vec![text.clone()]).expect("there is a text");
        let mutants: Vec<_> = (0..50).map(|seed| pool.mutant(seed)).collect();
        assert_eq!(mutants, (0..50).map(|seed| pool.mutant(seed)).collect::<Vec<_>>());
        assert!(mutants.iter().filter(|m| **m != text).count() > 40);
        assert!(Pool::new(vec![]).is_none());
    }
}
