import { EXIT_CODES, verifyRound } from '@coinop/verify';

// Verifies a round:  node verify.mjs http://localhost:3000 ROUND_ID http://127.0.0.1:8899
const [house, round, rpc] = process.argv.slice(2);
if (!house || !round || !rpc) throw new Error('usage: node verify.mjs HOUSE_URL ROUND_ID RPC_URL');
const { verdict, steps } = await verifyRound({ house, round, rpc });
for (const { check, outcome, detail } of steps) console.log(`${check}: ${outcome}: ${detail}`);
console.log(verdict);
process.exitCode = EXIT_CODES[verdict];
