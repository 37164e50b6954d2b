import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { paymentId } from '#areas/payouts';
import { ResumeRequest } from '#areas/payouts/schemas.ts';

test('the id of a payment is the start of the SHA-256 of its cause, with the marks of a UUID of version 8', () => {
  for (let i = 0; i < 50; i++) {
    const cause = { kind: 'prize', id: `round-${i}:1` };
    const hex = createHash('sha256').update(`coinop/payment/1\n${cause.kind}\n${cause.id}`).digest('hex').slice(0, 32);
    const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) % 4];
    const id = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `${variant}${hex.slice(17, 20)}`, hex.slice(20)].join('-');
    expect(paymentId(cause)).toBe(id);
  }
  // The separator keeps the kind and the id apart.
  expect(paymentId({ kind: 'a', id: 'bc' })).not.toBe(paymentId({ kind: 'ab', id: 'c' }));
});

test('an operator resumes payouts with at most 1,000 acknowledged transactions and at most 64 lanes from 0 to 63', () => {
  const signature = bs58.encode(new Uint8Array(64).fill(7));
  const accepts = (request: object) => ResumeRequest.safeParse(request).success;
  expect(ResumeRequest.parse({})).toEqual({ acknowledge: [], acceptLanes: [] });
  expect([1_000, 1_001].map((count) => accepts({ acknowledge: new Array(count).fill(signature) }))).toEqual([true, false]);
  expect([-1, 0, 63, 64].map((lane) => accepts({ acceptLanes: [lane] }))).toEqual([false, true, true, false]);
  expect([64, 65].map((count) => accepts({ acceptLanes: new Array(count).fill(0) }))).toEqual([true, false]);
  expect(accepts({ acknowledge: ['not a signature'] })).toBe(false);
});
