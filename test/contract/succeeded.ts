import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SPECIFICATION } from './specification.ts';

/** Lists the endpoints of the specification that succeeded in no test of a full run, and fails if there are any. `recordSuccesses` writes the input. */
const folder = process.argv[2] ?? '';
const succeeded = new Set(readdirSync(folder).flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n')));
const missing = SPECIFICATION.filter(({ name }) => !succeeded.has(name));
for (const { name } of missing) process.stderr.write(`NO TEST: ${name} is in the specification and succeeded in no test.\n`);
process.exitCode = missing.length === 0 ? 0 : 1;
