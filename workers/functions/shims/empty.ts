// Replaces modules that contain only types.
export {};
