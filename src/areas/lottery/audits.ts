import type { Audit } from '#lib/draw/audit.ts';

/** An audit as it is stored with its round: its entry hashes are level 0 of the round's tree. */
export type StoredAudit = Omit<Audit, 'entryHashes'>;

/** The text that is stored. With `"entryHashes":[…]` put before its last brace it is `JSON.stringify` of the whole audit, byte for byte. */
export function auditText({ entryHashes: _entryHashes, ...audit }: Audit): string {
  return JSON.stringify(audit);
}
