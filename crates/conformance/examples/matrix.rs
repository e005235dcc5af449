//! `matrix PTXAS FILE`: records what the GPU of this machine makes of matrices in the registers of a warp, and compares the interpreter with it.
use hostwarp::{Device, Engine};
use hostwarp_conformance::cuda::Gpu;
use hostwarp_conformance::matrix::{TILES, forms, hash, write};
use hostwarp_conformance::ptxas::Ptxas;
use std::path::Path;

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [ptxas, file] = &args[..] else { return Err("matrix PTXAS FILE".into()) };
    let (gpu, ptxas) = (Gpu::open()?, Ptxas::new(Path::new(ptxas))?);
    let device = Device::new().map_err(|e| e.to_string())?;
    let mut hashes = std::collections::BTreeMap::new();
    for form in forms() {
        let want = match form.record(&gpu, &ptxas) {
            Ok(want) => want,
            Err(why) => {
                println!("{}: {why}", form.head);
                continue;
            }
        };
        hashes.insert(form.head.clone(), hash(&want));
        let got = form.run(&device, Engine::Interp, TILES).map_err(|e| format!("{}: {e}", form.head))?;
        let wrong: Vec<usize> = (0..want.len()).filter(|i| got[*i] != want[*i]).collect();
        println!("{}: {} of {} differ", form.head, wrong.len(), want.len());
        for i in wrong.iter().take(6) {
            let of_lane = form.registers()[0];
            let (lane, register) = (i / of_lane, i % of_lane);
            println!(
                "  tile {} lane {} register {register}: {:#x}, the GPU {:#x}",
                lane / 32,
                lane % 32,
                got[*i],
                want[*i]
            );
        }
    }
    std::fs::write(file, write(&hashes)).map_err(|e| e.to_string())
}
