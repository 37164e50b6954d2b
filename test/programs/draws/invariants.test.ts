import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { Keypair, SystemProgram, type TransactionInstruction } from '@solana/web3.js';
import { drawsAddress } from '#platform/solana/draws/index.ts';
import { damaged, random } from '../damage.ts';
import { key, relaying } from '../instructions.ts';
import { FEATURES } from '../svm.ts';
import { DrawsWorld } from './world.ts';

const [MARGIN, WINDOW] = [60, 120];

test.each(FEATURES)('randomly changed instructions change no commitment, and only the founder changes the committer, %s', (features) => {
  const world = new DrawsWorld(features);
  const choose = random(`draws, ${features}`);
  const through = relaying(world.svm);
  const [stranger, second] = [Keypair.generate(), Keypair.generate()];
  for (const { publicKey } of [stranger, second]) world.svm.fund(publicKey, 1_000_000_000_000n);
  world.found({ margin: MARGIN, window: WINDOW });
  world.must([world.founding({ founder: stranger.publicKey, committer: stranger.publicKey, margin: MARGIN, window: WINDOW })], stranger);
  const strangers = drawsAddress(world.program, stranger.publicKey);

  const ids = Array.from({ length: 40 }, () => randomUUID());
  const places = [world.draws, strangers].flatMap((draws) => ids.map((roundId) => ({ draws, roundId, address: world.commitmentOf(roundId, draws) })));
  const pool = [
    ...[world.draws, strangers, world.program, SystemProgram.programId, key()],
    ...[world.payer, world.founder, world.committer, stranger, second].map(({ publicKey }) => publicKey),
    ...[0, 1, 2, 3, 40, 41, 42].flatMap((at) => places[at]?.address ?? []),
  ];
  const seen = new Map<string, Buffer>();
  const landed = { commits: 0, rotations: 0 };

  const make = (): TransactionInstruction => {
    const own = choose.below(3) > 0;
    const draws = own ? world.draws : strangers;
    if (choose.below(6) === 0) return world.rotating(choose.one([world.committer, second]).publicKey);
    const committer = own ? choose.one([world.committer, second]).publicKey : stranger.publicKey;
    const seconds = choose.one([MARGIN - 1, MARGIN, MARGIN + 5, MARGIN + WINDOW, MARGIN + WINDOW + 1]);
    return world.committing({ draws, committer, roundId: choose.one(ids), beaconRound: world.ahead(seconds) });
  };

  /** Checks all accounts after a transaction. `keys` signed it. */
  const check = (keys: readonly Keypair[], before: string | undefined) => {
    for (const { draws, roundId, address } of places) {
      const data = world.svm.get(address)?.data;
      const known = seen.get(address.toBase58());
      if (known) expect(data).toEqual(known);
      else if (data && data.length > 0) {
        const commitment = world.commitment(roundId, draws);
        if (!commitment) throw new Error('a new account is not a commitment');
        expect(commitment).toMatchObject({ round: roundId, draws: draws.toBase58(), time: world.svm.now, slot: world.svm.slot });
        const ahead = world.genesis + commitment.beaconRound - 1 - world.svm.now;
        expect(ahead >= MARGIN && ahead <= MARGIN + WINDOW).toBe(true);
        const committer = draws === world.draws ? before : stranger.publicKey.toBase58();
        expect(keys.map(({ publicKey }) => publicKey.toBase58())).toContain(committer);
        seen.set(address.toBase58(), data);
        landed.commits++;
      }
    }
    const { committer, ...facts } = world.facts() ?? { committer: '' };
    expect(facts).toMatchObject({ margin: MARGIN, window: WINDOW, genesis: world.genesis, founder: world.founder.publicKey.toBase58() });
    if (committer !== before) {
      expect(keys).toContain(world.founder);
      landed.rotations++;
    }
    expect(world.facts(strangers)).toMatchObject({ founder: stranger.publicKey.toBase58(), committer: stranger.publicKey.toBase58() });
  };

  for (let i = 0; i < 400; i++) {
    const before = world.facts()?.committer;
    let instruction = make();
    for (let times = choose.below(3); times > 0; times--) instruction = damaged(instruction, pool, choose);
    // Some of the keys sign; the signer flag of all others is removed.
    const keys = [world.payer, ...[world.founder, world.committer, second, stranger].filter(() => choose.below(4) > 0)];
    const keysOf = new Set(keys.map(({ publicKey }) => publicKey.toBase58()));
    instruction.keys = instruction.keys.map((meta) => ({ ...meta, isSigner: meta.isSigner && keysOf.has(meta.pubkey.toBase58()) }));
    const sent = choose.one([[instruction], [instruction], [instruction, instruction], [through(instruction, { times: 1 + choose.below(2) })]]);
    world.svm.send(sent, [world.payer, ...keys.slice(1)]);
    check(keys, before);
    if (choose.below(10) === 0) world.svm.now += choose.below(100);
  }
  expect(landed.commits).toBeGreaterThan(10);
  expect(landed.rotations).toBeGreaterThan(2);
});
