// PTX, generically: directives, blocks and operands. There is no instruction name in here; an opcode is a WORD
// with its dotted modifiers, and the table of instructions decides later what it means.
//
// The grammar is LL(1) and stays so (a test checks the generated parser): ANTLR then emits plain switches.
// The parser reads the tokens of scanner.h, whose kinds and keywords are generated from this file; the lexer
// rules below are the reference that tests compare the scanner with. The tree is built by the calls in braces
// (actions.h), made right after the token they are about.
grammar Ptx;

@parser::preinclude {
#include "ptx-parser/parse/actions.h"
}
@parser::members {
ptx2cpu::ptx::Actions* actions = nullptr;
}

module
  : VERSION FLOAT {actions->module.Version();} TARGET target (COMMA target)*
    (ADDRESS_SIZE INTEGER {actions->module.AddressSize();})? item* EOF ;
target : WORD {actions->module.Target();} ;

item
  : (linkage {actions->module.Linkage();})* (function | entry | declaration)
  | FILE INTEGER {actions->module.FileIndex();} STRING {actions->module.FileName();} (COMMA INTEGER COMMA INTEGER)?
  | SECTION {actions->module.Section();}
  | ALIAS WORD {actions->module.AliasName();} COMMA WORD {actions->module.AliasTarget();} SEMICOLON
  | pragma {actions->module.EndModulePragma();} ;
linkage : EXTERN | VISIBLE | WEAK | COMMON ;
pragma : PRAGMA STRING {actions->module.Pragma();} (COMMA STRING {actions->module.Pragma();})* SEMICOLON ;

// ---- functions
// A prototype of a .func needs no semicolon: PTX 2 was written so. What may follow its parameters is therefore less than
// for a kernel: a .pragma there is the next item.
function
  : FUNC {actions->functions.BeginFunction(false);} attributes?
    (PAREN_OPEN parameters? PAREN_CLOSE {actions->functions.EndReturns();})?
    WORD {actions->functions.FunctionName();} (PAREN_OPEN parameters? PAREN_CLOSE)?
    {actions->functions.EndParameters();} prototype_directive*
    ( SEMICOLON {actions->functions.EndDeclaration();} | body | {actions->functions.EndDeclaration();} ) ;
entry
  : ENTRY {actions->functions.BeginFunction(true);} attributes? WORD {actions->functions.FunctionName();}
    (PAREN_OPEN parameters? PAREN_CLOSE)? {actions->functions.EndParameters();} directive*
    ( SEMICOLON {actions->functions.EndDeclaration();} | body ) ;
body : BRACE_OPEN {actions->functions.BeginBody();} statement* BRACE_CLOSE {actions->functions.EndBody();} ;
parameters : parameter (COMMA parameter)* ;
parameter : {actions->variables.BeginParameter();} qualifier+ declarator ;
directive
  : (MAXNTID | REQNTID | REQNCTAPERCLUSTER) {actions->functions.BeginDimensions();}
    INTEGER {actions->functions.Dimension();} (COMMA INTEGER {actions->functions.Dimension();})*
  | (MAXNREG | MINNCTAPERSM | MAXNCTAPERSM | MAXCLUSTERRANK | ABI_PRESERVE | ABI_PRESERVE_CONTROL)
    {actions->functions.BeginLimit();} INTEGER {actions->functions.Limit();}
  | (NORETURN | EXPLICITCLUSTER | BLOCKSARECLUSTERS) {actions->functions.FunctionFlag();}
  | attributes
  | pragma ;
attributes : ATTRIBUTE PAREN_OPEN attribute (COMMA attribute)* PAREN_CLOSE ;
attribute : MODIFIER {actions->variables.Attribute();} (PAREN_OPEN INTEGER COMMA INTEGER PAREN_CLOSE)? ;

// ---- variables
declaration : {actions->variables.BeginDeclaration();} qualifier+ declarator (COMMA declarator)* SEMICOLON ;
qualifier
  : (REG | SREG | GLOBAL | LOCAL | PARAM | SHARED | TEX) {actions->variables.Space();}
  | CONST {actions->variables.Space();} (BRACKET_OPEN INTEGER {actions->variables.ConstBank();} BRACKET_CLOSE)?
  | MODIFIER {actions->variables.TypeOrVector();}
  | ALIGN INTEGER {actions->variables.Align();}
  | PTR {actions->variables.Pointer();}
  | attributes ;
declarator
  : WORD {actions->variables.BeginDeclarator();} (LESS INTEGER {actions->variables.NameCount();} GREATER)?
    (BRACKET_OPEN
      (operand {actions->variables.DimensionSize();} | {actions->variables.DimensionUnsized();}) BRACKET_CLOSE)*
    (ASSIGN operand {actions->variables.Initializer();})? {actions->variables.EndDeclarator();} ;

// ---- statements. A rule costs ten times what a token costs, so the operands that nearly all instructions have
// (names, integers) are matched right here; only other ones enter a rule.
statement
  : (AT (NOT {actions->statements.GuardNot();})? WORD {actions->statements.Guard();})?
    WORD {actions->statements.Name();}
    ( COLON ( targets | prototype | {actions->statements.Label();} )
    | {actions->statements.Opcode();} (modifier {actions->statements.SpacedModifier();})*
      ( (WORD {actions->operands.Identifier();} | INTEGER {actions->operands.Integer();} | primary | prefixed)
        rest_of_operand?
        ( COMMA
          (WORD {actions->operands.Identifier();} | INTEGER {actions->operands.Integer();} | primary | prefixed)
          rest_of_operand? )*
      )? SEMICOLON {actions->statements.EndInstruction();} )
  | declaration
  | LOC INTEGER {actions->locations.LocFile();} INTEGER {actions->locations.LocLine();}
    INTEGER {actions->locations.LocColumn();}
    (COMMA WORD {actions->locations.LocAttribute();}
      ( INTEGER {actions->locations.InlinedFile();} INTEGER {actions->locations.InlinedLine();}
        INTEGER {actions->locations.InlinedColumn();}
      | (WORD | MODIFIER) {actions->locations.FunctionLabel();}
        (PLUS INTEGER {actions->locations.FunctionOffset();})? ))*
    {actions->locations.EndLoc();}
  | pragma {actions->module.EndStatementPragma();}
  | BRACE_OPEN {actions->statements.BeginScope();} statement* BRACE_CLOSE {actions->statements.EndScope();} ;
modifier : MODIFIER | REG | SREG | CONST | GLOBAL | LOCAL | PARAM | SHARED | TEX | ALIGN | WEAK | COMMON ;

targets
  : (BRANCHTARGETS | CALLTARGETS) {actions->statements.BeginTargets();} targets_item (COMMA targets_item)*
    SEMICOLON {actions->statements.EndTargets();} ;
targets_item : WORD {actions->statements.TargetName();} (LESS INTEGER {actions->statements.TargetCount();} GREATER)? ;
prototype
  : CALLPROTOTYPE {actions->functions.BeginPrototype();}
    (PAREN_OPEN parameters? PAREN_CLOSE {actions->functions.EndReturns();})?
    WORD {actions->functions.PrototypeSink();} (PAREN_OPEN parameters? PAREN_CLOSE)?
    {actions->functions.EndParameters();}
    prototype_directive* SEMICOLON {actions->functions.EndPrototype();} ;
prototype_directive
  : NORETURN {actions->functions.FunctionFlag();}
  | (ABI_PRESERVE | ABI_PRESERVE_CONTROL) {actions->functions.BeginLimit();} INTEGER {actions->functions.Limit();} ;

// ---- operands: an instruction's, an initialiser's, an array size. The rules are flat: Actions handles precedence,
// and which operators are constant arithmetic and which belong to the operand (p|q, !p, a+4).
operand
  : (WORD {actions->operands.Identifier();} | INTEGER {actions->operands.Integer();} | primary | prefixed) rest_of_operand? ;
primary
  : (FLOAT | HEX_FLOAT) {actions->operands.Float();}
  | BRACE_OPEN {actions->operands.BeginList();} (field (COMMA field)*)? BRACE_CLOSE {actions->operands.EndVector();}
  | PAREN_OPEN {actions->operands.BeginList();} (operand (COMMA operand)*)?
    PAREN_CLOSE {actions->operands.EndParentheses();}
  | BRACKET_OPEN {actions->operands.BeginList();}
    (WORD {actions->operands.Identifier();} | INTEGER {actions->operands.Integer();} | primary | prefixed)
    rest_of_operand? (COMMA operand)* BRACKET_CLOSE {actions->operands.EndBracket();}
    (MODIFIER {actions->operands.AddressSuffix();})? ;
prefixed
  : {actions->operands.BeginPrefixes();} ((PLUS | MINUS | NOT | TILDE | CAST) {actions->operands.Prefix();})+
    (WORD {actions->operands.Identifier();} | INTEGER {actions->operands.Integer();} | primary)
    {actions->operands.EndPrefixes();} ;
rest_of_operand
  : ( BRACKET_OPEN operand BRACKET_CLOSE {actions->operands.Element();}
    | PAREN_OPEN operand PAREN_CLOSE {actions->operands.Call();} )
    (operators | conditional)?
  | operators
  | conditional ;
operators
  : {actions->operands.BeginOperators();}
    ( (STAR | SLASH | PERCENT | PLUS | MINUS | SHIFT_LEFT | SHIFT_RIGHT | LESS | GREATER | LESS_EQUAL
      | GREATER_EQUAL | EQUAL | NOT_EQUAL | AND | XOR | OR | AND_AND | OR_OR) {actions->operands.Operator();}
      (WORD {actions->operands.Identifier();} | INTEGER {actions->operands.Integer();} | primary | prefixed) )+
    {actions->operands.EndOperators();} conditional? ;
conditional : QUESTION operand COLON operand {actions->operands.EndConditional();} ;
field : operand (ASSIGN operand {actions->operands.Field();})? ;

// ---- tokens. Directives are keywords; every other dotted word is a MODIFIER (.b32, .v4, .managed).
VERSION : '.version' ;
TARGET : '.target' ;
ADDRESS_SIZE : '.address_size' ;
FILE : '.file' ;
ALIAS : '.alias' ;
PRAGMA : '.pragma' ;
LOC : '.loc' ;
EXTERN : '.extern' ;
VISIBLE : '.visible' ;
WEAK : '.weak' ;
COMMON : '.common' ;
ENTRY : '.entry' ;
FUNC : '.func' ;
MAXNTID : '.maxntid' ;
REQNTID : '.reqntid' ;
REQNCTAPERCLUSTER : '.reqnctapercluster' ;
MAXNREG : '.maxnreg' ;
MINNCTAPERSM : '.minnctapersm' ;
MAXNCTAPERSM : '.maxnctapersm' ;
MAXCLUSTERRANK : '.maxclusterrank' ;
ABI_PRESERVE : '.abi_preserve' ;
ABI_PRESERVE_CONTROL : '.abi_preserve_control' ;
NORETURN : '.noreturn' ;
EXPLICITCLUSTER : '.explicitcluster' ;
BLOCKSARECLUSTERS : '.blocksareclusters' ;
ATTRIBUTE : '.attribute' ;
REG : '.reg' ;
SREG : '.sreg' ;
CONST : '.const' ;
GLOBAL : '.global' ;
LOCAL : '.local' ;
PARAM : '.param' ;
SHARED : '.shared' ;
TEX : '.tex' ;
ALIGN : '.align' ;
PTR : '.ptr' ;
BRANCHTARGETS : '.branchtargets' ;
CALLTARGETS : '.calltargets' ;
CALLPROTOTYPE : '.callprototype' ;

COMMA : ',' ;
SEMICOLON : ';' ;
COLON : ':' ;
PAREN_OPEN : '(' ;
PAREN_CLOSE : ')' ;
BRACKET_OPEN : '[' ;
BRACKET_CLOSE : ']' ;
BRACE_OPEN : '{' ;
BRACE_CLOSE : '}' ;
AT : '@' ;
ASSIGN : '=' ;
QUESTION : '?' ;
PLUS : '+' ;
MINUS : '-' ;
STAR : '*' ;
SLASH : '/' ;
PERCENT : '%' ;
NOT : '!' ;
TILDE : '~' ;
AND : '&' ;
OR : '|' ;
XOR : '^' ;
LESS : '<' ;
GREATER : '>' ;
SHIFT_LEFT : '<<' ;
SHIFT_RIGHT : '>>' ;
LESS_EQUAL : '<=' ;
GREATER_EQUAL : '>=' ;
EQUAL : '==' ;
NOT_EQUAL : '!=' ;
AND_AND : '&&' ;
OR_OR : '||' ;

CAST : '(' [ \t]* '.' [su] '64' [ \t]* ')' ;
INTEGER : ('0' [xX] HEX+ | '0' [bB] [01]+ | [0-9]+) 'U'? ;
HEX_FLOAT : '0' [fFdD] HEX+ ;
FLOAT : [0-9]+ '.' [0-9]* EXPONENT? | [0-9]+ EXPONENT | '.' [0-9]+ EXPONENT? ;
STRING : '"' ('\\' ~[\n] | ~["\\\n])* '"' ;
// ld.const[0].f32: the bank of PTX before 2.2 is part of the opcode.
WORD : ([A-Za-z_$] | '%' FOLLOW) FOLLOW* ('.' FOLLOW+ | '::' FOLLOW+ | '.const[' [0-9]+ ']')* ;
MODIFIER : '.' FOLLOW+ ('::' FOLLOW+)* ;
// Debug data, whole: its lines are not PTX and can be half of a module.
SECTION : '.section' WHITE+ [.A-Za-z0-9_$]+ WHITE* '{' (COMMENT | ~[}/] | '/' ~[}/*])* '}' ;

SPACE : (WHITE | '\\' '\r'? '\n' | COMMENT | '@@' ~[\n]* | LINE_MARK) -> skip ;
// What is not a token: the parser reports it in place.
STRAY : . ;

fragment WHITE : [ \t\r\n\f\u000b] ;
fragment HEX : [0-9a-fA-F] ;
fragment EXPONENT : [eE] [+-]? [0-9]+ ;
fragment FOLLOW : [A-Za-z0-9_$] ;
// What the C preprocessor leaves: # 5 "a.cu"
fragment LINE_MARK : '#' BLANK* ('line' BLANK*)? [0-9]+ BLANK+ '"' ~["\n]* '"' ~[\n]* ;
fragment BLANK : [ \t\r\f\u000b] ;
fragment COMMENT : '//' ~[\n]* | '/*' .*? '*/' ;
