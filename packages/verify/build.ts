import { buildPackage } from '../build.ts';

/** Builds `dist/`, the content of the package. `npm pack` and `npm publish` run this script. */
buildPackage(import.meta.dirname);
