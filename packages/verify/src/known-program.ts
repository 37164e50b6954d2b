/** Hash of the program `draws` (`programHash` of programs/draws/draws.so). Verifiers trust no other program unless they pin one. */
export const KNOWN_PROGRAM = '3de53f9a2dbd95c5385f04738d97712d86e160c7680429a9335dcc5414e66f74';
