import { runVerifyRound } from './round-command.ts';

process.exitCode = await runVerifyRound(process.argv.slice(2), {
  print: (line) => void process.stdout.write(`${line}\n`),
  printError: (line) => void process.stderr.write(`${line}\n`),
  env: process.env,
});
