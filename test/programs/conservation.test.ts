import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { type PublicKey, SystemProgram, TransactionInstruction } from '@solana/web3.js';
import { associatedTokenAddress, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { FEATURES } from './svm.ts';
import { wallets } from './tree.ts';
import { account, DAY, fixture, key, type SvmEpoch, World } from './world.ts';

/** Creates a pseudorandom generator; the seed determines all numbers. */
function random(seed: string) {
  let count = 0;
  const below = (n: number): number => createHash('sha256').update(`${seed} ${count++}`).digest().readUIntBE(0, 6) % n;
  const one = <T>(list: readonly T[]): T => {
    const found = list[below(list.length)];
    if (found === undefined) throw new Error('the list is empty');
    return found;
  };
  return { below, one };
}
type Random = ReturnType<typeof random>;

/** Returns a copy of an instruction with one random change, which may make it invalid. */
function damaged(instruction: TransactionInstruction, pool: readonly PublicKey[], { below, one }: Random): TransactionInstruction {
  const { programId } = instruction;
  const keys = instruction.keys.map((meta) => ({ ...meta }));
  let data = Buffer.from(instruction.data);
  const meta = one(keys);
  const deeds = [
    () => Object.assign(meta, { pubkey: one(pool) }),
    () => {
      const other = one(keys);
      [meta.pubkey, other.pubkey] = [other.pubkey, meta.pubkey];
    },
    () => Object.assign(meta, { isWritable: !meta.isWritable }),
    () => data.length > 0 && data.writeUInt8(data.readUInt8(0) ^ (1 << below(8)), 0),
    () => {
      const at = below(Math.max(1, data.length));
      if (data.length > 0) data.writeUInt8(below(256), at);
    },
    () => {
      data = data.subarray(0, below(data.length + 1));
    },
    () => {
      data = Buffer.concat([data, Buffer.alloc(one([1, 8, 32]), below(256))]);
    },
    () => keys.splice(below(keys.length), 1),
    () => keys.push({ ...one(keys) }),
    () => {
      data = Buffer.from([below(6), ...data.subarray(1)]);
    },
  ];
  one(deeds)();
  return new TransactionInstruction({ programId, keys, data });
}

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
