import { stripTypeScriptTypes } from 'node:module';

/** Jest's transformer: what Node itself does to a .ts file. */
export default {
  process: (source, path) => ({ code: stripTypeScriptTypes(source, { mode: 'strip', sourceUrl: path }) }),
};
