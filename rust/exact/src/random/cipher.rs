//! AES-256 on 128-bit words.

use aes::Aes256;
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt};
use zerocopy::IntoBytes;

/// Whether the processor has instructions for it.
pub(super) fn in_hardware() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("aes");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("aes");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    false
}

/// Encrypt words in place, each as a little-endian block.
pub(super) fn encrypt(cipher: &Aes256, words: &mut [u128]) {
    for word in words.iter_mut() {
        *word = word.to_le();
    }
    let (blocks, _) = aes::Block::slice_as_chunks_mut(words.as_mut_bytes());
    cipher.encrypt_blocks(blocks);
    for word in words.iter_mut() {
        *word = u128::from_le(*word);
    }
}

/// Undo [`encrypt`].
pub(super) fn decrypt(cipher: &Aes256, words: &mut [u128]) {
    for word in words.iter_mut() {
        *word = word.to_le();
    }
    let (blocks, _) = aes::Block::slice_as_chunks_mut(words.as_mut_bytes());
    cipher.decrypt_blocks(blocks);
    for word in words.iter_mut() {
        *word = u128::from_le(*word);
    }
}

/// One word encrypted.
pub(super) fn encrypt_one(cipher: &Aes256, word: u128) -> u128 {
    let mut words = [word];
    encrypt(cipher, &mut words);
    words[0]
}
