import { expect, test } from '@jest/globals';
import { chainHashOf } from '#lib/draw/beacon-chain.ts';
import type { HttpSource } from '#packages/verify/src/index.ts';
import { verifyRound } from '#packages/verify/src/index.ts';
import { CHAIN, chatParameters, entriesOf } from '#test/lib/draw/rounds.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { draws } from '#test/support/verify/lies.ts';
import { createWorld } from '#test/support/verify/world.ts';

const chat = chatParameters();
const entries = entriesOf(chat, 12, 6, randomGenerator(67));
const newWorld = () => createWorld(chat, entries);

test('an honest house is not accused by a verifier whose clock is a little behind', async () => {
  const world = newWorld();
  const { verdict, result } = await verifyRound(world.options({ now: () => world.drawnAt - 2_000 }));
  expect([verdict, result?.numbers]).toEqual(['true', world.audit?.draw?.numbers]);
});

test('an honest house is not accused when the node of the verifier does not have the draws account yet', async () => {
  const world = newWorld();
  const account = world.accounts.get(world.addresses.draws);
  world.accounts.delete(world.addresses.draws);
  const behind = world.options({ now: () => world.now + 600_000 });
  expect((await verifyRound(behind)).verdict).toBe('cannot be checked');
  // The node receives the account while the verifier waits.
  const wait = async () => void (account && world.accounts.set(world.addresses.draws, account));
  expect((await verifyRound(world.options({ wait }))).verdict).toBe('true');
});

test('an audit with a beacon but without a commitment is false', async () => {
  const world = newWorld();
  world.accounts.delete(world.addresses.commitment);
  Object.assign(world.audit ?? {}, { commitment: null, draw: null, winners: null });
  const { verdict, steps } = await verifyRound(world.options());
  expect([verdict, steps.at(-1)?.check]).toEqual(['false', 'commitment']);
});

test('a beacon chain whose key is not a point has no valid signatures', async () => {
  const world = newWorld();
  const facts = { ...CHAIN, publicKey: 'f'.repeat(192) };
  const hash = chainHashOf(facts);
  draws(world, { isDevelopment: true, chainHash: hash });
  const info = {
    ...{ public_key: facts.publicKey, period: facts.period, genesis_time: facts.genesisTime, groupHash: facts.groupHash },
    schemeID: facts.scheme,
  };
  const beacon: HttpSource = async (path, maxBytes) =>
    path === `/${hash}/info`
      ? { status: 200, text: JSON.stringify({ ...info, metadata: { beaconID: facts.beaconId } }) }
      : world.sources.beacon(path.replace(hash, CHAIN.chainHash), maxBytes);
  const { pins } = world.options();
  const { verdict, steps } = await verifyRound(world.options({ beacon, development: true, pins: { ...pins, beacon: hash } }));
  expect([verdict, steps.at(-1)?.check]).toEqual(['cannot be checked', 'beacon']);
});
