//! Opcodes by their names in the specification, as far as anybody here asks for them, and how long instructions are.

macro_rules! opcodes {
    ($($name:ident = $value:literal;)*) => { $(pub const $name: u8 = $value;)* };
}

opcodes! {
    NOP = 0; ACONST_NULL = 1; ICONST_0 = 3; LCONST_0 = 9; LCONST_1 = 10; FCONST_0 = 11; FCONST_2 = 13; DCONST_0 = 14;
    DCONST_1 = 15; BIPUSH = 16; SIPUSH = 17; LDC = 18; LDC_W = 19; LDC2_W = 20;
    ILOAD = 21; LLOAD = 22; FLOAD = 23; DLOAD = 24; ALOAD = 25; ILOAD_0 = 26; ALOAD_0 = 42; ALOAD_3 = 45;
    IALOAD = 46; LALOAD = 47; FALOAD = 48; DALOAD = 49; AALOAD = 50; BALOAD = 51; CALOAD = 52; SALOAD = 53;
    ISTORE = 54; LSTORE = 55; FSTORE = 56; DSTORE = 57; ASTORE = 58; ISTORE_0 = 59; ASTORE_3 = 78;
    IASTORE = 79; LASTORE = 80; FASTORE = 81; DASTORE = 82; AASTORE = 83; BASTORE = 84; CASTORE = 85; SASTORE = 86;
    POP = 87; POP2 = 88; DUP = 89; DUP_X1 = 90; DUP_X2 = 91; DUP2 = 92; DUP2_X1 = 93; DUP2_X2 = 94; SWAP = 95;
    IADD = 96; IDIV = 108; LDIV = 109; IREM = 112; LREM = 113; DNEG = 119; ISHL = 120; LXOR = 131; IINC = 132;
    I2L = 133; I2S = 147; LCMP = 148; FCMPL = 149; FCMPG = 150; DCMPL = 151; DCMPG = 152;
    IFEQ = 153; IFLE = 158; IF_ICMPEQ = 159; IF_ACMPEQ = 165; IF_ACMPNE = 166; GOTO = 167; JSR = 168; RET = 169;
    TABLESWITCH = 170; LOOKUPSWITCH = 171; IRETURN = 172; LRETURN = 173; FRETURN = 174; DRETURN = 175; ARETURN = 176;
    RETURN = 177; GETSTATIC = 178; PUTSTATIC = 179; GETFIELD = 180; PUTFIELD = 181; INVOKEVIRTUAL = 182;
    INVOKESPECIAL = 183; INVOKESTATIC = 184; INVOKEINTERFACE = 185; INVOKEDYNAMIC = 186; NEW = 187; NEWARRAY = 188;
    ANEWARRAY = 189; ARRAYLENGTH = 190; ATHROW = 191; CHECKCAST = 192; INSTANCEOF = 193; MONITORENTER = 194;
    MONITOREXIT = 195; WIDE = 196; MULTIANEWARRAY = 197; IFNULL = 198; IFNONNULL = 199; GOTO_W = 200; JSR_W = 201;
}

/// Length of an instruction in bytes; 0 for those whose length depends on their operands or that do not exist.
pub const fn fixed_length(op: u8) -> usize {
    match op {
        BIPUSH | LDC | ILOAD..=ALOAD | ISTORE..=ASTORE | RET | NEWARRAY => 2,
        SIPUSH | LDC_W | LDC2_W | IINC | IFEQ..=JSR | IFNULL | IFNONNULL => 3,
        GETSTATIC..=INVOKESTATIC | NEW | ANEWARRAY | CHECKCAST | INSTANCEOF => 3,
        MULTIANEWARRAY => 4,
        INVOKEINTERFACE | INVOKEDYNAMIC | GOTO_W | JSR_W => 5,
        TABLESWITCH | LOOKUPSWITCH | WIDE => 0,
        202..=u8::MAX => 0,
        _ => 1,
    }
}

/// Whether an instruction names a place to go on at by a 16-bit offset.
pub const fn is_short_jump(op: u8) -> bool {
    matches!(op, IFEQ..=JSR | IFNULL | IFNONNULL)
}

/// The condition that holds exactly if this one does not.
pub const fn opposite(op: u8) -> u8 {
    match op {
        IFEQ..=IF_ACMPNE => ((op - IFEQ) ^ 1) + IFEQ,
        IFNULL | IFNONNULL => op ^ 1,
        other => other,
    }
}

/// Whether execution never goes on behind the instruction.
pub const fn ends_flow(op: u8) -> bool {
    matches!(op, GOTO | GOTO_W | RET | TABLESWITCH..=RETURN | ATHROW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposite_conditions_pair_up() {
        for op in (IFEQ..=IF_ACMPNE).chain([IFNULL, IFNONNULL]) {
            assert_ne!(opposite(op), op);
            assert_eq!(opposite(opposite(op)), op);
        }
        assert_eq!(opposite(IFEQ), IFEQ + 1);
        assert_eq!(opposite(IFNULL), IFNONNULL);
    }
}
