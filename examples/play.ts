import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, followEvents, keypairSigner, ok, signIn } from '#packages/client/src/index.ts';

/** Plays one game as a game client does: signs in with a new key, subscribes to events, begins a play, submits a score, and reads the leaderboard. */
const [gameId = 'gem-drop', score = '12000'] = process.argv.slice(2);
const client = createClient({ baseUrl: process.env.BASE_URL ?? 'http://localhost:3000' });
const { wallet } = await signIn(client, await keypairSigner(crypto.getRandomValues(new Uint8Array(32))));
console.log(`signed in as ${wallet}`);

// Opens the event stream before it starts the play, so that it misses no event of the play.
const { promise: updated, resolve: onUpdate } = Promise.withResolvers<void>();
const { promise: connected, resolve: connect } = Promise.withResolvers<void>();
const stop = new AbortController();
const events = followEvents(client, {
  categories: ['gameplay'],
  signal: stop.signal,
  onConnection: (isOpen) => isOpen && connect(),
  onReset: () => console.log('events were missed'),
  onEvent(event) {
    console.log(event.type, JSON.stringify(event));
    if (event.type === 'score_recorded') onUpdate();
  },
});
await Promise.race([connected, events]);

// With an idempotency key, a repeated call has only one effect, so the client retries the call when the service is busy.
const { body: play } = await ok(client.post('/game/{id}/play', { params: { id: gameId }, idempotencyKey: crypto.randomUUID() }));
console.log(`playing ${gameId} for eleven seconds`);
await sleep(11_000);
const answer = await client.post('/arcade/score', {
  body: { gameId, score: Number(score), playId: play.playId },
  idempotencyKey: crypto.randomUUID(),
});
if (!answer.ok) throw new Error(`the score was rejected with ${answer.status}: ${answer.error}`);
const { normalizedScore, pointsAwarded, rank } = answer.body;
console.log(`${normalizedScore} of 10000, ${pointsAwarded} points, rank ${rank.rank}`);

const { body: board } = await ok(client.get('/game/{id}/leaderboard', { params: { id: gameId }, query: { limit: 3 } }));
console.table(board);
await Promise.race([updated, events]);
stop.abort();
await events;
