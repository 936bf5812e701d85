//! Operations on memory that code outside the engine may touch run at once.

mod common;

use common::bench;
use cuprous_core::{Array, DType, ScatterOp};

#[test]
fn every_external_operand_ends_the_tape() {
    let b = bench(90);
    let int = || b.engine.empty(DType::I64, &[4]).unwrap();
    let float = || b.array(&[4]);
    let exported = |a: Array| {
        b.engine.export(&a.storage).unwrap();
        a
    };
    let ends = |what: &str, record: &dyn Fn()| {
        assert!(!b.engine.take_due(), "before {what}");
        record();
        assert!(b.engine.take_due(), "{what}");
        b.engine.flush().unwrap();
    };
    ends("gather from external memory", &|| drop(b.engine.gather(&exported(float()), &int()).unwrap()));
    ends("gather by an external index", &|| drop(b.engine.gather(&float(), &exported(int())).unwrap()));
    let scatter = |a: &Array, index: &Array, value: &Array| {
        b.engine.scatter(a, index, value, ScatterOp::Add).unwrap();
    };
    ends("scatter to external memory", &|| scatter(&exported(float()), &int(), &float()));
    ends("scatter by an external index", &|| scatter(&float(), &exported(int()), &float()));
    ends("scatter of an external value", &|| scatter(&float(), &int(), &exported(float())));
    scatter(&float(), &int(), &float());
    assert!(!b.engine.take_due(), "memory of the engine's own");
}
