import { expect, test } from '@jest/globals';
import { laneAddress, laneOpening } from '#platform/solana/nonce-lanes.ts';
import { newSigner } from '#platform/solana/primitives.ts';
import { openNonceAccount, transferLamports } from '#platform/solana/system-program.ts';

const RENT = 1_447_680;
const [payer, feePayer] = [newSigner().publicKey, newSigner().publicKey];
const open = (account: { lamports: number } | null) => laneOpening({ payer, feePayer, lane: 3 }, account, RENT);

test('the payer of a lane transfers what the account lacks for its rent, and nothing to an account that has enough', () => {
  const address = laneAddress(feePayer, 3);
  const opening = openNonceAccount({ address, authority: feePayer, seed: 'coinop-payouts-3' });
  expect(open(null)).toEqual({ lamports: RENT, instructions: [transferLamports(payer, address, RENT), ...opening] });
  expect(open({ lamports: RENT - 1 })).toEqual({ lamports: 1, instructions: [transferLamports(payer, address, 1), ...opening] });
  expect(open({ lamports: RENT })).toEqual({ lamports: 0, instructions: opening });
  expect(open({ lamports: RENT + 1 })).toEqual({ lamports: 0, instructions: opening });
});
