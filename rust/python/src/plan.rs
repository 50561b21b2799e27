//! What a plan needs beyond calibrations: keep probabilities and numbers of users.
