import { fail } from '#lib/errors.ts';
import { reply, route } from '#platform/http/route.ts';
import { playGateError } from '#platform/solana/token-gate.ts';
import { findGame } from '../games/registry.ts';
import { heartbeatUrl, MAX_UNFINISHED_PLAYS, startPlay } from '../plays/plays.ts';
import { GamePath, PlayReceipt } from '../schemas.ts';

const play = route({
  method: 'post',
  path: '/game/{id}/play',
  auth: 'session',
  summary: 'Start a play',
  description: `A score names its play, and each play can have one score. A wallet can start at most ${MAX_UNFINISHED_PLAYS} plays without a score per hour. If the service requires a token, a wallet that holds too little of it (see \`/eligibility\`) gets 403.

If the game’s verification is heartbeat, open a WebSocket to \`heartbeatUrl\` with the session’s cookie. Send \`{"type":"heartbeat"}\` at once and then every 5 seconds. The service answers each with \`{"type":"heartbeat","beats":n,"at":"…"}\`. Heartbeats less than 2 seconds apart are not counted. The service closes a socket that is silent for 15 seconds (4008). The client can open a new socket within 15 seconds of the last heartbeat; the service then closes the old one (4001). When the wallet signs out, or its session ends in another way, the service closes the socket (4003). Any other message, or more than 20 messages in 10 seconds, closes the socket (1008). When the service restarts, it closes the socket with 1012; connect again. If the client is silent for too long, its score is refused. If the service loses heartbeats, the score is held. The upgrade can fail with 400, 401, 403, 404, 409 (the game needs no heartbeats, or the play is over or has its score) or 503.`,
  params: GamePath,
  returns: { 201: PlayReceipt },
  fails: [403, 404, 429],
  idempotent: true,
  handler: async ({ app, params, wallet, once }) => {
    const game = await findGame(app, params.id);
    if (!game) throw fail(404, 'no such game');
    // Checks the wallet's token balance before the database transaction. Throws the error inside `once`, which stores the response, so that a
    // repeated request gets the same error.
    const refusal = await playGateError(app, wallet);
    return await once(async (tx) => {
      if (refusal) throw refusal;
      const { playId, startedAt } = await startPlay(tx, wallet, game.id);
      const url = game.verification === 'heartbeat' ? heartbeatUrl(app.config.publicUrl, game.id, playId) : null;
      return reply(201, { playId, gameId: game.id, startedAt, heartbeatUrl: url });
    });
  },
});

export const playRoutes = [play];
