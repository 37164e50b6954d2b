import type { Audit } from '#lib/draw/audit.ts';

/**
 * Serializes an audit for storage, without its entry hashes, because the hashes are stored as level 0 of the round's tree. Later, `auditFile` inserts
 * `"entryHashes":[…]` before the last brace of the stored text, so that the response equals `JSON.stringify` of the whole audit.
 */
export function auditText({ entryHashes: _entryHashes, ...audit }: Audit): string {
  return JSON.stringify(audit);
}
