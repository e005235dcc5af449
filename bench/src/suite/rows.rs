//! The kernels of `bench/suite`: what they take and how they are launched.

/// A kernel.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// What `a`, `b` and `out` hold: f and d floats, i and l words of 32 and 64 bits, h and b shorter ones, e what the variant says.
    pub(crate) kinds: &'static str,
    /// The types it is compiled for; the first is what is committed.
    pub(crate) elements: &'static [&'static str],
    /// Its two numbers when it is measured, and when it is only checked.
    pub(crate) big: [i32; 2],
    pub(crate) small: [i32; 2],
    /// The elements of `a`, `b` and `out` for these numbers.
    pub(crate) sizes: fn(usize, usize) -> [usize; 3],
    pub(crate) grid: Grid,
    /// The blocks it may have; the first is what is committed.
    pub(crate) blocks: &'static [[u32; 2]],
}

/// What is launched for numbers n and m.
pub(crate) enum Grid {
    /// A thread for each of n (`EACH`).
    Items,
    /// A thread for each of n × m (`EACH_2D`).
    Plane,
    /// CTAs along x and y, by the numbers and the block.
    Of(fn([u32; 2], [u32; 2]) -> [u32; 2]),
}

/// Blocks of kernels for which any will do, of those that need warps or powers of two, and of those in two dimensions.
const ANY: &[[u32; 2]] =
    &[[256, 1], [128, 1], [96, 1], [100, 1], [512, 1], [1024, 1], [33, 1], [64, 1], [1, 1]];
const WARPS: &[[u32; 2]] = &[[256, 1], [128, 1], [96, 1], [512, 1], [1024, 1], [32, 1], [192, 1]];
const POWERS: &[[u32; 2]] = &[[256, 1], [128, 1], [64, 1], [512, 1], [1024, 1], [32, 1]];
const FLAT: &[[u32; 2]] =
    &[[32, 8], [16, 16], [8, 8], [64, 4], [128, 1], [20, 10], [32, 32], [13, 7], [256, 2], [4, 64]];

/// Columns of threads that go down a square tile.
const TILES: &[[u32; 2]] = &[[32, 8], [16, 16], [32, 4], [8, 8], [16, 4], [32, 32], [20, 5]];

const REAL: &[&str] = &["float", "double"];
const WORDS: &[&str] = &["int", "unsigned", "long long"];
/// The type of those that have but one.
const ONE: &[&str] = &["int"];

const K: i32 = 1024;

/// A CTA for each so many of n, a CTA for each of m rows, and a fixed number of CTAs that go over n.
const PARTS: Grid = Grid::Of(|n, b| [n[0].div_ceil(b[0] * b[1]), 1]);
const ROW_EACH: Grid = Grid::Of(|n, _| [n[1], 1]);
const STRIDED: Grid = Grid::Of(|n, b| [(n[0] / 16 / (b[0] * b[1])).max(3), 1]);

type Sizes = fn(usize, usize) -> [usize; 3];
type Numbers = [i32; 2];

const fn row(
    name: &'static str,
    (kinds, elements): (&'static str, &'static [&'static str]),
    (big, small): (Numbers, Numbers),
    sizes: Sizes,
    (grid, blocks): (Grid, &'static [[u32; 2]]),
) -> Row {
    Row { name, kinds, elements, big, small, sizes, grid, blocks }
}

/// n items, with as many elements each way.
const SAME: Sizes = |n, _| [n, n, n];
/// A picture of n by m.
const PICTURE: Sizes = |n, m| [n * m, 1, n * m];

#[rustfmt::skip]
pub(crate) const ROWS: &[Row] = &[
    row("saxpy_stride", ("eee", REAL), ([256 * K, 0], [3001, 0]), SAME, (STRIDED, ANY)),
    row("stencil", ("eee", REAL), ([512, 512], [67, 45]), PICTURE, (Grid::Plane, FLAT)),
    row("bitonic", ("eee", WORDS), ([64 * K, 0], [2 * K, 0]), SAME, (PARTS, POWERS)),
    row("scan", ("eee", WORDS), ([256 * K, 0], [4 * K, 0]), SAME, (PARTS, POWERS)),
    row("warp_scan", ("eee", WORDS), ([256 * K, 0], [4 * K, 0]), SAME, (PARTS, WARPS)),
    row("layernorm", ("eee", REAL), ([1024, 256], [301, 5]), PICTURE, (ROW_EACH, WARPS)),
    row("hash_rounds", ("iii", ONE), ([64 * K, 32], [1001, 5]), SAME, (Grid::Items, ANY)),
    row("binary_search", ("iii", ONE), ([64 * K, 256 * K], [1001, 5000]), |n, m| [n, m, n], (Grid::Items, ANY)),
    row("histogram", ("bii", ONE), ([1024 * K, 0], [5003, 0]), |n, _| [n, 1, 256], (STRIDED, ANY)),
    row("transpose", ("eee", REAL), ([512, 512], [70, 45]), PICTURE, (Grid::Of(|n, b| [n[0].div_ceil(b[0]), n[1].div_ceil(b[0])]), TILES)),
    row("nbody", ("eee", REAL), ([2 * K, 0], [320, 0]), SAME, (PARTS, ANY)),
    row("spmv", ("eie", REAL), ([16 * K, 0], [517, 0]), |n, _| [n * 16, n * 16, n], (Grid::Items, ANY)),
    row("julia", ("eei", REAL), ([64 * K, 200], [1001, 60]), SAME, (Grid::Items, ANY)),
    row("box_blur", ("bfb", ONE), ([512, 512], [67, 45]), PICTURE, (Grid::Plane, FLAT)),
    row("dot", ("eee", WORDS), ([256 * K, 0], [5003, 0]), |n, _| [n, n, 1], (STRIDED, WARPS)),
    row("convolution", ("eee", REAL), ([512, 512], [67, 45]), |n, m| [n * m, 25, n * m], (Grid::Plane, FLAT)),
    row("kmeans", ("eei", REAL), ([64 * K, 16], [1001, 7]), |n, m| [n * 4, m * 4, n], (Grid::Items, ANY)),
    row("lu_row", ("eee", REAL), ([512, 512], [67, 45]), PICTURE, (Grid::Plane, FLAT)),
    row("match_bytes", ("bbi", ONE), ([256 * K, 0], [3001, 0]), |n, _| [n, 8, n], (Grid::Items, ANY)),
    row("ray", ("eei", REAL), ([16 * K, 256], [600, 60]), SAME, (Grid::Items, ANY)),
    row("softmax_max", ("eee", REAL), ([1024, 256], [301, 5]), PICTURE, (ROW_EACH, POWERS)),
    row("gemm_blocked", ("eee", REAL), ([256, 200], [70, 37]), |n, m| [n * m, n * m, n * n], (Grid::Of(|n, _| [n[0].div_ceil(64); 2]), &[[16, 16]])),
    row("gemm_tile", ("eee", REAL), ([250, 200], [70, 37]), |n, m| [n * m, n * m, n * n], (Grid::Of(|n, b| [n[0].div_ceil(b[0]), n[0].div_ceil(b[1])]), &[[16, 16], [17, 17], [8, 8], [32, 8], [13, 7], [32, 32]])),
    row("matvec", ("eee", REAL), ([1000, 256], [301, 9]), |n, m| [n * m, n, m], (Grid::Of(|n, b| [(n[1] * 32).div_ceil(b[0]), 1]), WARPS)),
    row("heat3d", ("eee", REAL), ([96, 64], [37, 9]), |n, m| [n * n * m, 1, n * n * m], (Grid::Of(|n, b| [n[0].div_ceil(b[0]), n[0].div_ceil(b[1])]), FLAT)),
    row("row_filter", ("eee", REAL), ([500, 512], [67, 45]), PICTURE, (Grid::Of(|n, b| [n[0].div_ceil(b[0]), n[1].div_ceil(b[1])]), FLAT)),
    row("scan_tree", ("eee", WORDS), ([256 * K, 0], [4 * K, 0]), SAME, (Grid::Of(|n, b| [n[0] / (2 * b[0]), 1]), POWERS)),
    row("compact", ("eee", WORDS), ([256 * K, 0], [3001, 0]), SAME, (PARTS, WARPS)),
    row("argmax", ("eei", REAL), ([1000, 256], [301, 5]), |n, m| [n * m, 1, m], (ROW_EACH, POWERS)),
    row("radix_sort", ("iii", ONE), ([64 * K, 0], [2 * K, 0]), SAME, (PARTS, POWERS)),
    row("merge_path", ("iii", ONE), ([64 * K, 0], [1000, 0]), |n, _| [n, n, 2 * n], (Grid::Of(|n, b| [(n[0] / 4).div_ceil(b[0]), 1]), ANY)),
    row("ell_spmv", ("eie", REAL), ([64 * K, 0], [517, 0]), |n, _| [n * 12, n * 12, n], (Grid::Items, ANY)),
    row("bfs", ("iii", ONE), ([2000, 32], [300, 3]), |n, m| [n * m * 3, 1, n * m], (ROW_EACH, ANY)),
    row("pagerank", ("eie", REAL), ([16 * K, 0], [500, 0]), |n, _| [n, n * 24 + 64, n], (STRIDED, WARPS)),
    row("histogram_warps", ("iii", ONE), ([256 * K, 0], [5003, 0]), |n, _| [n, 1, 64], (STRIDED, WARPS)),
    row("sha256", ("iii", ONE), ([8 * K, 0], [200, 0]), |n, _| [n * 16, 1, n * 8], (Grid::Items, ANY)),
    row("chacha", ("iii", ONE), ([16 * K, 0], [300, 0]), |n, _| [n * 16, 8, n * 16], (Grid::Items, ANY)),
    row("aes_rounds", ("bbb", ONE), ([8 * K, 10], [200, 3]), |n, _| [n * 16, 64, n * 16], (PARTS, ANY)),
    row("crc32", ("bii", ONE), ([16 * K, 64], [300, 17]), |n, m| [n * m, 1, n], (STRIDED, ANY)),
    row("mod_power", ("lll", ONE), ([8 * K, 8], [200, 40]), SAME, (Grid::Items, ANY)),
    row("base64", ("bib", ONE), ([256 * K, 0], [1001, 0]), |n, _| [n * 3, 1, n * 4], (Grid::Items, ANY)),
    row("edit_distance", ("bbi", ONE), ([512, 16], [90, 3]), |n, m| [n * m, n * m, m], (ROW_EACH, ANY)),
    row("median", ("bib", ONE), ([512, 512], [67, 45]), PICTURE, (Grid::Plane, FLAT)),
    row("sobel", ("bib", ONE), ([512, 512], [67, 45]), PICTURE, (Grid::Plane, FLAT)),
    row("dilate", ("eie", &["int", "unsigned char", "short", "float"]), ([128 * K, 9], [1001, 4]), SAME, (Grid::Items, ANY)),
    row("softmax", ("eee", REAL), ([1000, 128], [301, 5]), PICTURE, (ROW_EACH, WARPS)),
    row("rms_norm", ("eee", REAL), ([1000, 256], [301, 9]), |n, m| [n * m, n, n * m], (Grid::Of(|n, b| [n[1].div_ceil(b[0] / 32), 1]), WARPS)),
    row("attention", ("fff", ONE), ([512, 64], [77, 3]), |n, m| [m * 32, 2 * n * 32, m * 32], (ROW_EACH, POWERS)),
    row("quantise", ("ffb", ONE), ([1000, 256], [301, 5]), |n, m| [n * m, 1, (n + 4) * m], (ROW_EACH, POWERS)),
    row("dot_bytes", ("iii", ONE), ([16 * K, 32], [501, 7]), |n, m| [n * m, m, n], (Grid::Items, ANY)),
    row("mandelbrot", ("eeb", REAL), ([256, 192], [60, 33]), PICTURE, (Grid::Plane, FLAT)),
    row("philox", ("iii", ONE), ([64 * K, 0], [501, 0]), |n, _| [2, 1, n * 4], (Grid::Items, ANY)),
    row("fft", ("fff", ONE), ([64 * K, 0], [1024, 0]), |n, _| [2 * n, 256, 2 * n], (Grid::Of(|n, _| [n[0] / 256, 1]), &[[128, 1], [64, 1], [32, 1], [96, 1], [256, 1]])),
    row("life", ("bib", ONE), ([512, 512], [67, 45]), PICTURE, (Grid::Plane, FLAT)),
    row("resize", ("bib", ONE), ([512, 512], [68, 44]), PICTURE, (Grid::Plane, FLAT)),
    row("march", ("eee", REAL), ([16 * K, 64], [500, 30]), SAME, (Grid::Items, ANY)),
    row("vm", ("ibi", ONE), ([16 * K, 16], [500, 5]), |n, m| [n, m * 64, n], (Grid::Items, ANY)),
    row("tokens", ("bii", ONE), ([4 * K, 100], [200, 40]), |n, m| [n * m, 1, n], (Grid::Items, ANY)),
    row("quicksort", ("eie", WORDS), ([4 * K, 0], [200, 0]), |n, _| [n * 16, 1, n * 16], (Grid::Items, ANY)),
    row("dispatch", ("iii", ONE), ([16 * K, 20], [300, 7]), SAME, (Grid::Items, ANY)),
    row("bit_fields", ("iii", ONE), ([16 * K, 40], [500, 9]), SAME, (Grid::Items, ANY)),
    row("matrix3", ("eee", REAL), ([16 * K, 3], [300, 2]), |n, _| [n * 9, 1, n * 9], (Grid::Items, ANY)),
    row("hash_table", ("iii", ONE), ([4 * K, 16], [1500, 3]), |n, m| [n * m, 1, (n + 1) * m], (ROW_EACH, ANY)),
    row("wave", ("eee", REAL), ([512, 512], [67, 45]), |n, m| [n * m; 3], (Grid::Of(|n, b| [n[0].div_ceil(b[0]), n[1].div_ceil(b[1])]), FLAT)),
    row("collatz", ("iii", ONE), ([16 * K, 400], [500, 100]), SAME, (Grid::Items, ANY)),
    row("queens", ("iii", ONE), ([100, 10], [49, 7]), |n, _| [1, 1, n], (Grid::Items, ANY)),
    row("monte_carlo", ("lid", ONE), ([4 * K, 32], [200, 9]), SAME, (Grid::Items, ANY)),
    row("xorshift", ("iii", ONE), ([64 * K, 64], [1001, 9]), SAME, (Grid::Items, ANY)),
];
