/** `Cache-Control` of a response that may change: clients revalidate it by its ETag. */
export const REVALIDATE = 'no-cache';
/** `Cache-Control` of a response that never changes. */
export const IMMUTABLE = 'public, max-age=31536000, immutable';
