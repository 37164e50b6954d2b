import { type Check, ok, warning, wrong } from '#doctor/check.ts';
import { QUEUES } from '#jobs/queues.ts';
import { openFileLimit } from '#platform/events/open-files.ts';

/** Limit of open files below which an API process can serve too few event streams. A worker needs far fewer files. */
const MIN_OPEN_FILES = { api: 8_192, worker: 1_024 };

export const openFiles: Check = {
  name: 'open-files',
  settings: [],
  remedy: 'Read the limit with `ulimit -n`.',
  run(_app, process) {
    const limit = openFileLimit();
    const minimum = MIN_OPEN_FILES[process];
    if (limit >= minimum) return [ok(`${limit} open files and connections are allowed`)];
    return [warning(`only ${limit} open files and connections are allowed`, `Raise the limit of the process to ${minimum} or more (ulimit -n).`)];
  },
};

/** Checks whether QUEUES names only queues that exist. */
export const queues: Check = {
  name: 'queues',
  settings: ['QUEUES'],
  remedy: 'Correct QUEUES.',
  run({ config }, process) {
    const unknown = config.queues.filter((name) => !QUEUES.some((queue) => queue === name));
    if (unknown.length > 0) return [wrong(`QUEUES names unknown queues: ${unknown.join(', ')}`, `Use only these names: ${QUEUES.join(', ')}.`)];
    if (process === 'api') return [];
    return [ok(config.queues.length === 0 ? 'the worker serves all queues' : `the worker serves ${config.queues.join(', ')}`)];
  },
};
