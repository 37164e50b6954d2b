import { expect, test } from '@jest/globals';
import { SystemProgram, TransactionInstruction } from '@solana/web3.js';
import { associatedTokenAddress, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { damaged, random } from '../damage.ts';
import { account, fixture, key } from '../instructions.ts';
import { FEATURES } from '../svm.ts';
import { wallets } from './tree.ts';
import { DAY, type SvmEpoch, World } from './world.ts';

/** Checks that the tokens of each mint in vaults, wallets and treasury are as many as before, and that each leaf is paid once or not at all. */
function expectConserved(world: World, epochs: readonly SvmEpoch[]): void {
  for (const mint of new Set(epochs.map((epoch) => epoch.mint))) {
    let [held, total] = [world.balance(associatedTokenAddress(world.treasury.publicKey, mint)), 0n];
    for (const epoch of epochs.filter((other) => other.mint === mint)) {
      let paid = 0n;
      for (let index = 0; index < epoch.leaves; index++) {
        const got = world.paid(epoch, index);
        if (got !== 0n) expect(got).toBe(epoch.claim(index).amount);
        if (world.svm.get(world.page(epoch, 0))) expect(world.isClaimed(epoch, index)).toBe(got !== 0n);
        paid += got;
      }
      const { state, claimed } = world.state(epoch);
      expect(claimed).toBe(paid);
      if (state === 'open') expect(world.balance(epoch.vault)).toBe(epoch.total - paid);
      held += paid + world.balance(epoch.vault);
      total += epoch.total;
    }
    expect(held).toBe(total);
  }
}

test.each(FEATURES)('randomly changed instructions neither create nor lose tokens, and pay no claim twice, %s', (features) => {
  const world = new World(features);
  const choose = random(`seed 1, ${features}`);
  const relay = key();
  world.svm.addProgram(relay, fixture('relay'));
  const [a, b] = [world.mint(), world.mint()];
  const epochs = [world.open(a, wallets(6), 1n), world.open(a, wallets(6), 2n), world.open(b, wallets(6), 1n)];
  for (const epoch of epochs) for (let index = 0; index < 6; index++) world.destination(epoch, index);
  const wellKnown = [a, b, TOKEN_PROGRAM, SystemProgram.programId, world.program, world.payer.publicKey, world.treasury.publicKey, key()];
  const pool = epochs.flatMap((epoch) => {
    const leaves = [0, 3].map((index) => epoch.claim(index).wallet);
    const destinations = leaves.map((wallet) => associatedTokenAddress(wallet, epoch.mint));
    return [epoch.epochAccount, epoch.vault, epoch.refund, world.page(epoch, 0), ...leaves, ...destinations, ...wellKnown];
  });

  const landed = { claims: 0, endings: 0 };
  const step = (endings: boolean) => {
    const epoch = choose.one(epochs);
    const kinds = [world.settling(epoch), world.closing(epoch), world.closingPage(epoch, 0)];
    let instruction = endings && choose.below(3) === 0 ? choose.one(kinds) : world.claiming(epoch, choose.below(6));
    const isClaim = instruction.data[0] === 1;
    for (let times = choose.below(3); times > 0; times--) instruction = damaged(instruction, pool, choose);
    // Removes the signer flag of accounts whose key the test does not have.
    const own = [world.payer, ...(endings ? [world.authority] : [])].map(({ publicKey }) => publicKey);
    instruction.keys = instruction.keys.map((meta) => ({ ...meta, isSigner: meta.isSigner && own.some((signer) => signer.equals(meta.pubkey)) }));
    const relayed = new TransactionInstruction({
      programId: relay,
      keys: [account(instruction.programId), ...instruction.keys],
      data: Buffer.concat([Buffer.from([1 + choose.below(2), 0, 0]), instruction.data]),
    });
    const sent = choose.one([[instruction], [instruction], [instruction, instruction], [relayed]]);
    if (world.errorOf(sent, world.authority) === null) landed[isClaim ? 'claims' : 'endings']++;
  };

  for (let i = 1; i <= 250; i++) {
    step(false);
    if (i % 25 === 0) expectConserved(world, epochs);
  }
  expect(landed.claims).toBeGreaterThan(5);
  world.svm.now += 89 * DAY; // continues with the authority's signature, shortly before the expiry
  for (let i = 1; i <= 150; i++) {
    step(true);
    if (i === 75) world.svm.now += DAY;
    if (i % 25 === 0) expectConserved(world, epochs);
  }
  expect(landed.endings).toBeGreaterThan(2);
});
