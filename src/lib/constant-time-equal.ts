import { timingSafeEqual } from 'node:crypto';

/** Returns whether two texts are equal byte for byte. The running time does not depend on the position of the first difference. */
export function constantTimeEqual(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}
