import { inTurns } from '../comparison/turns.ts';
import { load } from '../support/load.ts';
import { reportLoad } from '../support/report.ts';
import { SCORE_CONNECTIONS, SECONDS, WARMUP_SECONDS } from '../support/score-loads.ts';
import { readPeerRequest } from './peer-request.ts';

/** Measures how many scores per second another server at PEER_URL accepts, with the connections and the duration of the benchmark `scores`. */

const { PEER_URL = '', PEER_REQUEST = '', PEER_USERS } = process.env;
const { protocol, hostname, port, host } = new URL(PEER_URL);
if (protocol !== 'http:') throw new Error('PEER_URL must begin with http://');
if (PEER_REQUEST === '') throw new Error('PEER_REQUEST must name the file of the request that sends a score');
const next = readPeerRequest(PEER_REQUEST, PEER_USERS, host);
const target = { host: hostname, port: Number(port || 80), next };

await load({ ...target, connections: 64, seconds: 5 });
for (const connections of SCORE_CONNECTIONS) {
  await inTurns(async () => {
    const result = await load({ ...target, connections, seconds: SECONDS, warmupSeconds: WARMUP_SECONDS });
    reportLoad(`scores, ${connections} connections`, result);
  });
}
