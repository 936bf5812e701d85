//! Scratch memory of a thread. It is kept from run to run, so that running a program does not allocate.

use std::cell::RefCell;

use crate::alloc::ALIGN;

/// Location of a value.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    /// Address of its first element.
    pub(crate) ptr: *mut u8,
    /// 0 if the value is one chunk of equal elements, else 1.
    pub(crate) step: usize,
    /// The memory behind the last element, up to a complete chunk, may be read and written.
    pub(crate) padded: bool,
}

/// Registers and slots of a running kernel.
pub(crate) struct Frame {
    memory: Vec<Line>,
    slots: Vec<Slot>,
}

/// The unit of a frame's memory. It has the alignment of memory blocks; registers within it are aligned to cache lines.
#[derive(Clone, Copy)]
#[repr(align(256))]
struct Line(#[allow(dead_code, reason = "only its size matters")] [u8; ALIGN]);

// A thread may run another task while it waits within one, so it can need more than one frame.
thread_local! {
    static FREE: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
}

impl Frame {
    /// Returns a frame with at least `bytes` of memory (initialized, with arbitrary contents) and `slots` slots.
    pub(crate) fn take(bytes: usize, slots: usize) -> Frame {
        let found = FREE.with(|f| f.borrow_mut().pop());
        let mut frame = found.unwrap_or_else(|| Frame { memory: Vec::new(), slots: Vec::new() });
        let lines = bytes.div_ceil(ALIGN);
        if frame.memory.len() < lines {
            frame.memory.resize(lines, Line([0; ALIGN]));
        }
        if frame.slots.len() < slots {
            frame.slots.resize(slots, Slot { ptr: std::ptr::null_mut(), step: 0, padded: false });
        }
        frame
    }

    /// Keeps the frame for this thread's next task.
    pub(crate) fn release(self) {
        FREE.with(|f| f.borrow_mut().push(self));
    }

    #[inline]
    pub(crate) fn memory(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr() as *mut u8
    }

    #[inline]
    pub(crate) fn slot(&self, val: u16) -> Slot {
        self.slots[usize::from(val)]
    }

    #[inline]
    pub(crate) fn set(&mut self, val: u16, slot: Slot) {
        self.slots[usize::from(val)] = slot;
    }
}
