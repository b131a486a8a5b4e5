//! Where loaded libraries are in memory, as their program headers say.

use core::ffi::{c_int, c_void};

const PAGE: u64 = 4096;

/// Where a library is.
#[derive(Clone, Copy, Default)]
pub struct Image {
    /// Its code: lowest address and the one behind the highest.
    pub text: (u64, u64),
    /// All of it, in whole pages. The loader reserves this range at once, so nobody else's memory is in it.
    pub whole: (u64, u64),
}

/// The library that has code at an address.
pub fn containing(address: u64) -> Option<Image> {
    struct Search {
        address: u64,
        found: Option<Image>,
    }
    unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
        // SAFETY: the loader's description of a library, and what `containing` gave it.
        let (search, headers, base) = unsafe {
            let headers = core::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum as usize);
            (&mut *(search as *mut Search), headers, (*info).dlpi_addr)
        };
        let segments = headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
        let range = |h: &libc::Elf64_Phdr| (base + h.p_vaddr, base + h.p_vaddr + h.p_memsz);
        let text = segments.clone().filter(|h| h.p_flags & libc::PF_X != 0).map(range);
        let Some(text) = text.into_iter().find(|(low, high)| (*low..*high).contains(&search.address)) else { return 0 };
        let low = segments.clone().map(|h| range(h).0).min().unwrap_or(0) & !(PAGE - 1);
        let high = (segments.map(|h| range(h).1).max().unwrap_or(0) + PAGE - 1) & !(PAGE - 1);
        search.found = Some(Image { text, whole: (low, high) });
        1
    }
    let mut search = Search { address, found: None };
    // SAFETY: the loader calls `each` with what it is given.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut search) as *mut c_void) };
    search.found
}

/// Where the runtime itself is.
pub fn own() -> Image {
    static mut OWN: Image = Image { text: (0, 0), whole: (0, 0) };
    // SAFETY: filled in once, before the program is under control.
    unsafe {
        if OWN.text.1 == 0
            && let Some(found) = containing(own as *const () as u64)
        {
            OWN = found;
        }
        OWN
    }
}
