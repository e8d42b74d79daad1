//! A growing ring buffer with stable positions.

/// A queue whose entries keep their position (a wrapping count of pushes)
/// until they are popped, so that a second cursor can follow behind the tail.
pub struct Ring<T> {
    slots: Vec<T>,
    head: u32,
    tail: u32,
}

impl<T: Copy + Default> Default for Ring<T> {
    fn default() -> Self {
        Ring::new()
    }
}

impl<T: Copy + Default> Ring<T> {
    /// An empty ring.
    pub fn new() -> Self {
        Ring {
            slots: vec![T::default(); 8],
            head: 0,
            tail: 0,
        }
    }
    /// Whether nothing is queued.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }
    /// Entries queued.
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }
    /// Position of the oldest entry.
    #[inline]
    pub fn head(&self) -> u32 {
        self.head
    }
    /// Position that the next push will have.
    #[inline]
    pub fn tail(&self) -> u32 {
        self.tail
    }
    /// Appends.
    #[inline]
    pub fn push(&mut self, value: T) {
        *self.push_slot() = value;
    }
    /// Appends an entry, to be written in place; it holds what was there before.
    #[inline]
    pub fn push_slot(&mut self) -> &mut T {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let position = self.tail;
        self.tail = position.wrapping_add(1);
        self.at_mut(position)
    }
    /// Removes the oldest entry.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let value = *self.at(self.head);
        self.head = self.head.wrapping_add(1);
        Some(value)
    }
    /// Removes the newest entry.
    pub fn pop_newest(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.tail = self.tail.wrapping_sub(1);
        Some(*self.at(self.tail))
    }
    /// The oldest entry.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        (!self.is_empty()).then(|| self.at(self.head))
    }
    /// The entry at `position`, which must be queued.
    #[inline]
    pub fn at(&self, position: u32) -> &T {
        let mask = self.slots.len() - 1;
        &self.slots[position as usize & mask]
    }
    /// The entry at `position`, which must be queued.
    #[inline]
    pub fn at_mut(&mut self, position: u32) -> &mut T {
        let mask = self.slots.len() - 1;
        &mut self.slots[position as usize & mask]
    }
    #[cold]
    fn grow(&mut self) {
        let mut slots = vec![T::default(); self.slots.len() * 2];
        let mask = slots.len() - 1;
        for i in 0..self.len() as u32 {
            let position = self.head.wrapping_add(i);
            slots[position as usize & mask] = *self.at(position);
        }
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn behaves_like_a_deque(ops in prop::collection::vec(0u8..4, 0..400)) {
            let (mut ring, mut deque) = (Ring::new(), VecDeque::new());
            for (i, op) in ops.into_iter().enumerate() {
                match op {
                    0 => prop_assert_eq!(ring.pop(), deque.pop_front()),
                    1 => prop_assert_eq!(ring.pop_newest(), deque.pop_back()),
                    _ => { ring.push(i); deque.push_back(i); }
                }
                prop_assert_eq!(ring.len(), deque.len());
                prop_assert_eq!(ring.front(), deque.front());
            }
        }
    }
}
