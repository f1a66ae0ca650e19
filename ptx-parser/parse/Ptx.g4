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
  : VERSION FLOAT {actions->Version();} TARGET target (COMMA target)*
    (ADDRESS_SIZE INTEGER {actions->AddressSize();})? item* EOF ;
target : WORD {actions->Target();} ;

item
  : (linkage {actions->Linkage();})* (function | entry | declaration)
  | FILE INTEGER {actions->FileIndex();} STRING {actions->FileName();} (COMMA INTEGER COMMA INTEGER)?
  | SECTION {actions->Section();}
  | ALIAS WORD {actions->AliasName();} COMMA WORD {actions->AliasTarget();} SEMICOLON
  | pragma {actions->EndModulePragma();} ;
linkage : EXTERN | VISIBLE | WEAK | COMMON ;
pragma : PRAGMA STRING {actions->Pragma();} (COMMA STRING {actions->Pragma();})* SEMICOLON ;

// ---- functions
// A prototype of a .func needs no semicolon: PTX 2 was written so. What may follow its parameters is therefore less than
// for a kernel: a .pragma there is the next item.
function
  : FUNC {actions->BeginFunction(false);} attributes? (PAREN_OPEN parameters? PAREN_CLOSE {actions->EndReturns();})?
    WORD {actions->FunctionName();} (PAREN_OPEN parameters? PAREN_CLOSE)? {actions->EndParameters();}
    prototype_directive* ( SEMICOLON {actions->EndDeclaration();} | body | {actions->EndDeclaration();} ) ;
entry
  : ENTRY {actions->BeginFunction(true);} attributes? WORD {actions->FunctionName();}
    (PAREN_OPEN parameters? PAREN_CLOSE)? {actions->EndParameters();} directive*
    ( SEMICOLON {actions->EndDeclaration();} | body ) ;
body : BRACE_OPEN {actions->BeginBody();} statement* BRACE_CLOSE {actions->EndBody();} ;
parameters : parameter (COMMA parameter)* ;
parameter : {actions->BeginParameter();} qualifier+ declarator ;
directive
  : (MAXNTID | REQNTID | REQNCTAPERCLUSTER) {actions->BeginDimensions();}
    INTEGER {actions->Dimension();} (COMMA INTEGER {actions->Dimension();})*
  | (MAXNREG | MINNCTAPERSM | MAXNCTAPERSM | MAXCLUSTERRANK | ABI_PRESERVE | ABI_PRESERVE_CONTROL)
    {actions->BeginLimit();} INTEGER {actions->Limit();}
  | (NORETURN | EXPLICITCLUSTER | BLOCKSARECLUSTERS) {actions->FunctionFlag();}
  | attributes
  | pragma ;
attributes : ATTRIBUTE PAREN_OPEN attribute (COMMA attribute)* PAREN_CLOSE ;
attribute : MODIFIER {actions->Attribute();} (PAREN_OPEN INTEGER COMMA INTEGER PAREN_CLOSE)? ;

// ---- variables
declaration : {actions->BeginDeclaration();} qualifier+ declarator (COMMA declarator)* SEMICOLON ;
qualifier
  : (REG | SREG | GLOBAL | LOCAL | PARAM | SHARED | TEX) {actions->Space();}
  | CONST {actions->Space();} (BRACKET_OPEN INTEGER {actions->ConstBank();} BRACKET_CLOSE)?
  | MODIFIER {actions->TypeOrVector();}
  | ALIGN INTEGER {actions->Align();}
  | PTR {actions->Pointer();}
  | attributes ;
declarator
  : WORD {actions->BeginDeclarator();} (LESS INTEGER {actions->NameCount();} GREATER)?
    (BRACKET_OPEN (operand {actions->DimensionSize();} | {actions->DimensionUnsized();}) BRACKET_CLOSE)*
    (ASSIGN operand {actions->Initializer();})? {actions->EndDeclarator();} ;

// ---- statements. A rule costs ten times what a token costs, so the operands that nearly all instructions have
// (names, integers) are matched right here; only other ones enter a rule.
statement
  : (AT (NOT {actions->GuardNot();})? WORD {actions->Guard();})? WORD {actions->Name();}
    ( COLON ( targets | prototype | {actions->Label();} )
    | {actions->Opcode();} (modifier {actions->SpacedModifier();})*
      ( (WORD {actions->Identifier();} | INTEGER {actions->Integer();} | primary | prefixed) rest_of_operand?
        ( COMMA
          (WORD {actions->Identifier();} | INTEGER {actions->Integer();} | primary | prefixed) rest_of_operand? )*
      )? SEMICOLON {actions->EndInstruction();} )
  | declaration
  | LOC INTEGER {actions->LocFile();} INTEGER {actions->LocLine();} INTEGER {actions->LocColumn();}
    (COMMA WORD {actions->LocAttribute();}
      ( INTEGER {actions->InlinedFile();} INTEGER {actions->InlinedLine();} INTEGER {actions->InlinedColumn();}
      | (WORD | MODIFIER) {actions->FunctionLabel();} (PLUS INTEGER {actions->FunctionOffset();})? ))*
    {actions->EndLoc();}
  | pragma {actions->EndStatementPragma();}
  | BRACE_OPEN {actions->BeginScope();} statement* BRACE_CLOSE {actions->EndScope();} ;
modifier : MODIFIER | REG | SREG | CONST | GLOBAL | LOCAL | PARAM | SHARED | TEX | ALIGN | WEAK | COMMON ;

targets
  : (BRANCHTARGETS | CALLTARGETS) {actions->BeginTargets();} targets_item (COMMA targets_item)*
    SEMICOLON {actions->EndTargets();} ;
targets_item : WORD {actions->TargetName();} (LESS INTEGER {actions->TargetCount();} GREATER)? ;
prototype
  : CALLPROTOTYPE {actions->BeginPrototype();} (PAREN_OPEN parameters? PAREN_CLOSE {actions->EndReturns();})?
    WORD {actions->PrototypeSink();} (PAREN_OPEN parameters? PAREN_CLOSE)? {actions->EndParameters();}
    prototype_directive* SEMICOLON {actions->EndPrototype();} ;
prototype_directive
  : NORETURN {actions->FunctionFlag();}
  | (ABI_PRESERVE | ABI_PRESERVE_CONTROL) {actions->BeginLimit();} INTEGER {actions->Limit();} ;

// ---- operands: an instruction's, an initialiser's, an array size. The rules are flat: Actions handles precedence,
// and which operators are constant arithmetic and which belong to the operand (p|q, !p, a+4).
operand
  : (WORD {actions->Identifier();} | INTEGER {actions->Integer();} | primary | prefixed) rest_of_operand? ;
primary
  : (FLOAT | HEX_FLOAT) {actions->Float();}
  | BRACE_OPEN {actions->BeginList();} (field (COMMA field)*)? BRACE_CLOSE {actions->EndVector();}
  | PAREN_OPEN {actions->BeginList();} (operand (COMMA operand)*)? PAREN_CLOSE {actions->EndParentheses();}
  | BRACKET_OPEN {actions->BeginList();}
    (WORD {actions->Identifier();} | INTEGER {actions->Integer();} | primary | prefixed) rest_of_operand?
    (COMMA operand)* BRACKET_CLOSE {actions->EndBracket();} (MODIFIER {actions->AddressSuffix();})? ;
prefixed
  : {actions->BeginPrefixes();} ((PLUS | MINUS | NOT | TILDE | CAST) {actions->Prefix();})+
    (WORD {actions->Identifier();} | INTEGER {actions->Integer();} | primary) {actions->EndPrefixes();} ;
rest_of_operand
  : (BRACKET_OPEN operand BRACKET_CLOSE {actions->Element();} | PAREN_OPEN operand PAREN_CLOSE {actions->Call();})
    (operators | conditional)?
  | operators
  | conditional ;
operators
  : {actions->BeginOperators();}
    ( (STAR | SLASH | PERCENT | PLUS | MINUS | SHIFT_LEFT | SHIFT_RIGHT | LESS | GREATER | LESS_EQUAL
      | GREATER_EQUAL | EQUAL | NOT_EQUAL | AND | XOR | OR | AND_AND | OR_OR) {actions->Operator();}
      (WORD {actions->Identifier();} | INTEGER {actions->Integer();} | primary | prefixed) )+
    {actions->EndOperators();} conditional? ;
conditional : QUESTION operand COLON operand {actions->EndConditional();} ;
field : operand (ASSIGN operand {actions->Field();})? ;

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
