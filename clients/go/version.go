package weir

// Version is that of weir, with which this package is released.
const Version = "0.3.0"
