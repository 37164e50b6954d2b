import { fail } from '#lib/errors.ts';
import { inTurn } from '#platform/db/turns.ts';
import { reply, route } from '#platform/http/route.ts';
import { playGateError } from '#platform/solana/token-gate.ts';
import { findGame } from '../games/registry.ts';
import { endPlaySession } from '../plays/play-session.ts';
import { heartbeatUrl } from '../plays/plays.ts';
import { startPlay, startPlayIn } from '../plays/start-play.ts';
import { MAX_UNFINISHED_PLAYS, type StartedPlay } from '../plays/start-plays.ts';
import { describeSimulation } from '../replays/simulations.ts';
import { GamePath, PlayReceipt } from '../schemas.ts';

const play = route({
  method: 'post',
  path: '/game/{id}/play',
  auth: 'session',
  summary: 'Start a play',
  description: `A score names its play, and each play can have one score. A new play ends the older plays of the wallet in the game, normally all of them (some games allow several live plays): the score of an ended play is refused. A wallet can start at most ${MAX_UNFINISHED_PLAYS} plays without a score per hour. If the service requires a token, a wallet that holds too little of it (see \`/eligibility\`) gets 403.

If the game’s verification is heartbeat, open a WebSocket to \`heartbeatUrl\` with the session’s cookie, or with \`&ticket=\` and a ticket of \`POST /auth/ticket\` at the end of the URL. Send \`{"type":"heartbeat"}\` at once and then every 5 seconds. The service answers each with \`{"type":"heartbeat","beats":n,"at":"…"}\`. Heartbeats less than 2 seconds apart are not counted. The service closes a socket that is silent for 15 seconds (4008). The client can open a new socket within 15 seconds of the last heartbeat; the service then closes the old one (4001). When a newer play ended the play, the service closes the socket at its next heartbeat (4002). When the wallet signs out, or its session ends in another way, the service closes the socket (4003). Any other message, or more than 20 messages in 10 seconds, closes the socket (1008). When the service restarts, it closes the socket with 1012; connect again. If the client is silent for too long, its score is refused. If the service loses heartbeats, the score is held. The upgrade can fail with 400, 401, 403, 404, 409 (the game needs no heartbeats, or the play is over or has its score) or 503.`,
  params: GamePath,
  returns: { 201: PlayReceipt },
  fails: [403, 404, 429],
  idempotent: true,
  handler: async ({ app, params, wallet, once, idempotencyKey }) => {
    const game = await findGame(app, params.id);
    if (!game) throw fail(404, 'no such game');
    // Checks the wallet's token balance before the database transaction.
    const refusal = await playGateError(app, wallet);
    const simulation = game.simulation === undefined ? null : await describeSimulation(app, game.simulation);
    let ended: string | null = null;
    const respond = (started: StartedPlay) => {
      ended = started.ended;
      const { playId, startedAt, seed } = started;
      const url = game.verification === 'heartbeat' ? heartbeatUrl(app.config.publicUrl, game.id, playId) : null;
      return reply(201, { playId, gameId: game.id, startedAt, heartbeatUrl: url, seed, simulation });
    };
    // A request with an idempotency key has a transaction of its own, which also stores the response. A repeated request gets the stored response, even
    // if the wallet holds too few tokens by then.
    const answer =
      idempotencyKey === null && refusal === null
        ? respond(await startPlay(app, { wallet, game }))
        : await inTurn(app, `play ${wallet}`, () =>
            once(async (tx) => {
              if (refusal) throw refusal;
              return respond(await startPlayIn(tx, { wallet, game }));
            }),
          );
    // Does not wait for Redis: without this call the socket stays open until the play is over, but the score of the play is refused.
    if (ended !== null) {
      const playId: string = ended;
      endPlaySession(app.redis, app.config.redis.prefix, playId).catch((err: unknown) =>
        app.log.warn({ err, playId }, 'the session of an ended play cannot be marked in Redis; its socket stays open until the play is over'),
      );
    }
    return answer;
  },
});

export const playRoutes = [play];
