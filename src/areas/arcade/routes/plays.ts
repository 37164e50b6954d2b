import { fail } from '#lib/errors.ts';
import { reply, route } from '#platform/http/route.ts';
import { refusalToPlay } from '#platform/solana/token-gate.ts';
import { heartbeatUrl, MAX_UNFINISHED, startPlay } from '../plays.ts';
import { findGame } from '../registry.ts';
import { GamePath, PlayReceipt } from '../schemas.ts';

const play = route({
  method: 'post',
  path: '/game/{id}/play',
  auth: 'session',
  summary: 'Start a play',
  description: `A score names its play, and uses it up. At most ${MAX_UNFINISHED} plays without a score an hour. Where the service asks for a token to be held, a wallet that holds too little of it (see \`/eligibility\`) is refused with 403.

Where the game verifies by heartbeat, open a WebSocket to \`heartbeatUrl\` with the session's cookie and send \`{"type":"heartbeat"}\` every 5 seconds, the first at once; each is answered with \`{"type":"heartbeat","beats":n,"at":"…"}\`. Beats less than 2 seconds apart are not counted. A socket that is silent for 15 seconds is closed (4008); it may be opened again anywhere within 15 seconds of the last beat, and takes over from one that is still open (4001). Anything else than heartbeats, or more than 20 messages in 10 seconds, closes it (1008). When the service restarts it closes with 1012: connect again. A silence of the client's makes its score refused, one of the service's makes it held. The upgrade is refused with 400, 401, 403, 404, 409 (the game needs no heartbeats; the play has its score, or is over) or 503.`,
  params: GamePath,
  returns: { 201: PlayReceipt },
  fails: [403, 404, 429],
  idempotent: true,
  handler: async ({ app, params, wallet, once }) => {
    const game = await findGame(app, params.id);
    if (!game) throw fail(404, 'no such game');
    // Asked outside the transaction, told inside: a play that was started before is answered again whatever the wallet holds now.
    const refusal = await refusalToPlay(app, wallet);
    return await once(async (tx) => {
      if (refusal) throw refusal;
      const { playId, startedAt } = await startPlay(tx, wallet, game.id);
      const url = game.verification === 'heartbeat' ? heartbeatUrl(app.config.publicUrl, game.id, playId) : null;
      return reply(201, { playId, gameId: game.id, startedAt, heartbeatUrl: url });
    });
  },
});

export const playRoutes = [play];
