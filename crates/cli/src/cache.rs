//! Where compiled kernels are kept between runs.

use crate::failure::Failure;
use hostwarp::Cache;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// The cache the environment asks for; none if it is switched off or there is no place for it.
pub fn cache() -> Result<Option<Cache>, Failure> {
    Ok(directory(|name| env::var_os(name).filter(|v| !v.is_empty()))?.map(Cache::new))
}

fn directory(var: impl Fn(&str) -> Option<OsString>) -> Result<Option<PathBuf>, Failure> {
    if let Some(switch) = var("HOSTWARP_CACHE") {
        match switch.to_str() {
            Some("on" | "1") => {}
            Some("off" | "0") => return Ok(None),
            _ => {
                let text = format!("HOSTWARP_CACHE is `{}`: it can be `on` or `off`", switch.display());
                return Err(Failure::usage(text));
            }
        }
    }
    if let Some(own) = var("HOSTWARP_CACHE_DIR") {
        return Ok(Some(own.into()));
    }
    // A relative path is to be ignored, says the XDG specification.
    let user = var("XDG_CACHE_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
    let user = user.or_else(|| var("LOCALAPPDATA").filter(|_| cfg!(windows)).map(PathBuf::from));
    let user = user.or_else(|| var("HOME").map(|home| PathBuf::from(home).join(".cache")));
    Ok(user.map(|user| user.join("hostwarp")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_where() {
        let of = |vars: &[(&str, &str)]| {
            let var = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| v.into());
            directory(var).expect("no mistake")
        };
        let all = [("HOME", "/home/u"), ("XDG_CACHE_HOME", "/xdg"), ("HOSTWARP_CACHE_DIR", "own")];
        assert_eq!(of(&all), Some("own".into()));
        assert_eq!(of(&all[..2]), Some("/xdg/hostwarp".into()));
        assert_eq!(of(&all[..1]), Some("/home/u/.cache/hostwarp".into()));
        assert_eq!(of(&[all[0], ("XDG_CACHE_HOME", "relative")]), Some("/home/u/.cache/hostwarp".into()));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[all[2], ("HOSTWARP_CACHE", "off")]), None);
        assert_eq!(of(&[all[2], ("HOSTWARP_CACHE", "on")]), Some("own".into()));
    }
}
