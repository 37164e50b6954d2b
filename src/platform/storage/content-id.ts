import { createHash } from 'node:crypto';
import { stringify } from 'uuid';

/**
 * Returns the id of a file whose content a hash determines: a UUID of version 8 from the first 16 bytes of sha256(label LF hash). So the file can be
 * found by its hash alone, also after the loss of the database.
 * @param hash hex
 */
export function contentId(label: string, hash: string): string {
  const bytes = createHash('sha256').update(`${label}\n${hash}`).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return stringify(bytes);
}
