import { timingSafeEqual } from 'node:crypto';

/** Returns whether two texts are equal byte for byte. The time taken does not depend on where they differ. */
export function constantTimeEqual(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}
