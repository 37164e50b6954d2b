import { describe, expect, test } from '@jest/globals';
import { PublicKey, SystemProgram, TransactionInstruction } from '@solana/web3.js';
import { MINT_BYTES, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { account } from '../instructions.ts';
import { FEATURES } from '../svm.ts';
import { wallets } from './tree.ts';
import { World } from './world.ts';

const NATIVE_MINT = new PublicKey('So11111111111111111111111111111111111111112');

/** Transfers lamports to a token account of the native mint, and syncs its token balance. */
function wrap(world: World, to: PublicKey, lamports: number) {
  const syncNative = new TransactionInstruction({ programId: TOKEN_PROGRAM, keys: [account(to, true)], data: Buffer.from([17]) });
  return [SystemProgram.transfer({ fromPubkey: world.payer.publicKey, toPubkey: to, lamports }), syncNative];
}

function worldWithNativeMint(features: (typeof FEATURES)[number]) {
  const world = new World(features);
  const data = Buffer.alloc(MINT_BYTES);
  data.writeUInt8(9, 44);
  data.writeUInt8(1, 45);
  world.svm.set(NATIVE_MINT, { owner: TOKEN_PROGRAM, lamports: BigInt(world.svm.rent(MINT_BYTES)), data, executable: false });
  world.must([world.tokenAccount(world.treasury.publicKey, NATIVE_MINT)]);
  return world;
}

describe.each(FEATURES)('an epoch of wrapped SOL, %s', (features) => {
  test('an epoch of wrapped SOL pays claims and refunds all lamports', () => {
    const world = worldWithNativeMint(features);
    const epoch = world.plan(NATIVE_MINT, wallets(3));
    world.must([world.tokenAccount(epoch.epochAccount, NATIVE_MINT), ...wrap(world, epoch.vault, Number(epoch.total))]);
    world.must([world.opening(epoch)], world.authority);
    world.claim(epoch, 1);
    expect(world.paid(epoch, 1)).toBe(1_001n);

    // Later lamports: synced lamports are refunded as tokens, the others belong to the account and go to the authority.
    world.must([...wrap(world, epoch.vault, 50), ...wrap(world, epoch.vault, 7).slice(0, 1)]);
    const [refund, authority] = [world.svm.lamports(epoch.refund), world.svm.lamports(epoch.authority)];
    world.must([world.settling(epoch), world.closing(epoch)], world.authority);
    expect(world.balance(epoch.refund)).toBe(2_002n + 50n);
    expect(world.svm.lamports(epoch.refund) - refund).toBe(2_002n + 50n);
    expect(world.svm.lamports(epoch.authority) - authority).toBe(BigInt(world.svm.rent(165)) + 7n);
    expect(world.svm.get(epoch.vault)).toBeNull();
  });

  test('lamports that are not synced to the vault do not fund an epoch of wrapped SOL', () => {
    const world = worldWithNativeMint(features);
    const epoch = world.plan(NATIVE_MINT, wallets(3));
    const [send] = wrap(world, epoch.vault, Number(epoch.total));
    if (!send) throw new Error('the transfer is missing');
    world.must([world.tokenAccount(epoch.epochAccount, NATIVE_MINT), send]);
    expect(world.errorOf([world.opening(epoch)], world.authority)).toBe('Unfunded');
  });
});
