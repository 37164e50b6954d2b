import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, keypairSigner, ok, signIn } from '@coinop/client';

// Signs in with a new key, plays a game and prints the result:  BASE_URL=http://localhost:3000 node play.mjs gem-drop 12000 11
const [gameId = 'gem-drop', score = '12000', seconds = '11'] = process.argv.slice(2);
const client = createClient({ baseUrl: process.env.BASE_URL ?? 'http://localhost:3000' });
const { wallet } = await signIn(client, await keypairSigner(crypto.getRandomValues(new Uint8Array(32))));
const { body: play } = await ok(client.post('/game/{id}/play', { params: { id: gameId }, idempotencyKey: crypto.randomUUID() }));
await sleep(Number(seconds) * 1_000);
const { body } = await ok(
  client.post('/arcade/score', { body: { gameId, score: Number(score), playId: play.playId }, idempotencyKey: crypto.randomUUID() }),
);
console.log(`${wallet} has ${body.normalizedScore} of 10000 and rank ${body.rank.rank}`);
