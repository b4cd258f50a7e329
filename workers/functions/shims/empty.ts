// Stands in for modules that hold types alone.
export {};
