import { runVerifyScore } from './score-command.ts';

process.exitCode = await runVerifyScore(process.argv.slice(2), {
  print: (line) => void process.stdout.write(`${line}\n`),
  printError: (line) => void process.stderr.write(`${line}\n`),
  env: process.env,
});
