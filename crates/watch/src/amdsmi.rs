//! Reads each GPU's state from AMD's management library (amdsmi).

use std::ffi::{CStr, c_char};

use cuprous_hip_sys as sys;
use sys::amdsmi::{
    AmdsmiApi, amdsmi_asic_info_t, amdsmi_clk_info_t, amdsmi_clk_type_t as Clock, amdsmi_driver_info_t,
    amdsmi_engine_usage_t, amdsmi_enumeration_info_t, amdsmi_memory_type_t, amdsmi_power_cap_info_t,
    amdsmi_power_info_t, amdsmi_proc_info_t, amdsmi_processor_handle, amdsmi_socket_handle, amdsmi_status_t,
    amdsmi_temperature_metric_t as Metric, amdsmi_temperature_type_t as Sensor, amdsmi_version_t,
};

use crate::nvml::GpuProcess;
use crate::sample::Gpu;

/// The versions whose structs are those of the bindings. Before them, the first number was the year of the release.
const VERSIONS: std::ops::RangeInclusive<u32> = 26..=27;
/// `AMDSMI_INIT_AMD_GPUS` of amdsmi.h.
const GPUS: u64 = 1 << 1;
/// `AMDSMI_MAX_FAN_SPEED` of amdsmi.h.
const MAX_FAN: i64 = 255;

/// Room for a struct of the library, and for fields that later versions add at its end.
#[repr(C)]
struct Room<T> {
    value: T,
    later: [u64; 64],
}

/// The library, started.
pub(crate) struct Reader {
    api: &'static AmdsmiApi,
    driver: Option<String>,
}

/// Calls a function of the library; `None` if it is missing or fails.
macro_rules! call {
    ($api:expr, $name:ident($($arg:expr),* $(,)?)) => {
        match &$api.$name {
            // SAFETY: handles are those that the library returned, and there is room for what it writes.
            Ok(function) => (unsafe { function($($arg),*) } == amdsmi_status_t::AMDSMI_STATUS_SUCCESS).then_some(()),
            Err(_) => None,
        }
    };
}

/// Returns a struct that a function fills.
fn filled<T>(fill: impl FnOnce(*mut T) -> Option<()>) -> Option<T> {
    // SAFETY: all structs are of numbers, for which zero is a value.
    let mut room: Box<Room<T>> = Box::new(unsafe { std::mem::zeroed() });
    fill(&raw mut room.value)?;
    let Room { value, .. } = *room;
    Some(value)
}

fn text(bytes: &[c_char]) -> String {
    let bytes: Vec<u8> = bytes.iter().map(|&byte| byte as u8).collect();
    CStr::from_bytes_until_nul(&bytes).map_or(String::new(), |text| text.to_string_lossy().trim().to_owned())
}

/// Returns a number unless it stands for an unknown one.
fn known(value: u32) -> Option<u32> {
    (value != u32::MAX && value != u32::from(u16::MAX)).then_some(value)
}

impl Reader {
    /// Opens and starts the library.
    ///
    /// # Errors
    /// Why it cannot be used, as a sentence.
    pub(crate) fn open() -> Result<Reader, String> {
        let api = sys::amdsmi().map_err(|_| "AMD's management library (libamd_smi.so) is not installed".to_owned())?;
        let version = filled(|to: *mut amdsmi_version_t| call!(api, amdsmi_get_lib_version(to)));
        let major = version.map_or(0, |version| version.major);
        if !VERSIONS.contains(&major) {
            return Err(format!("AMD's management library has version {major}, and 26 or 27 (ROCm 7) is needed"));
        }
        call!(api, amdsmi_init(GPUS)).ok_or("AMD's management library does not start")?;
        let mut reader = Reader { api, driver: None };
        reader.driver = reader.handles().first().and_then(|&gpu| {
            let info = filled(|to: *mut amdsmi_driver_info_t| call!(api, amdsmi_get_gpu_driver_info(gpu, to)))?;
            Some(text(&info.driver_version)).filter(|version| !version.is_empty())
        });
        Ok(reader)
    }

    pub(crate) fn driver(&self) -> Option<String> {
        self.driver.clone()
    }

    /// Returns all GPUs, socket by socket.
    fn handles(&self) -> Vec<amdsmi_processor_handle> {
        let api = self.api;
        let listed = |list: &dyn Fn(*mut u32, *mut amdsmi_processor_handle) -> Option<()>| {
            let mut count = 0;
            list(&raw mut count, std::ptr::null_mut())?;
            let mut handles: Vec<amdsmi_processor_handle> = vec![std::ptr::null_mut(); count as usize];
            list(&raw mut count, handles.as_mut_ptr())?;
            handles.truncate(count as usize);
            Some(handles)
        };
        let sockets = listed(&|count, to| call!(api, amdsmi_get_socket_handles(count, to.cast())));
        let gpus = |socket: amdsmi_socket_handle| {
            listed(&|count, to| call!(api, amdsmi_get_processor_handles(socket, count, to))).unwrap_or_default()
        };
        sockets.unwrap_or_default().into_iter().flat_map(gpus).collect()
    }

    /// Reads all GPUs and the processes on them. `first` is the index of the first GPU.
    pub(crate) fn read(&self, first: u32) -> (Vec<Gpu>, Vec<GpuProcess>) {
        let (mut gpus, mut processes) = (Vec::new(), Vec::new());
        for (index, gpu) in (first..).zip(self.handles()) {
            gpus.push(self.gpu(gpu, index));
            processes.extend(self.running(gpu, index));
        }
        (gpus, processes)
    }

    fn gpu(&self, gpu: amdsmi_processor_handle, index: u32) -> Gpu {
        let api = self.api;
        let asic = filled(|to: *mut amdsmi_asic_info_t| call!(api, amdsmi_get_gpu_asic_info(gpu, to)));
        let numbers = filled(|to: *mut amdsmi_enumeration_info_t| call!(api, amdsmi_get_gpu_enumeration_info(gpu, to)));
        let busy = filled(|to: *mut amdsmi_engine_usage_t| call!(api, amdsmi_get_gpu_activity(gpu, to)));
        let power = filled(|to: *mut amdsmi_power_info_t| call!(api, amdsmi_get_power_info(gpu, to)));
        let cap = filled(|to: *mut amdsmi_power_cap_info_t| call!(api, amdsmi_get_power_cap_info(gpu, 0, to)));
        let clock = |of| filled(|to: *mut amdsmi_clk_info_t| call!(api, amdsmi_get_clock_info(gpu, of, to)));
        let (clock, memory_clock) = (clock(Clock::AMDSMI_CLK_TYPE_GFX), clock(Clock::AMDSMI_CLK_TYPE_MEM));
        let vram = amdsmi_memory_type_t::AMDSMI_MEM_TYPE_VRAM;
        let mut fan = 0;
        // Data-center GPUs have no sensor at the edge.
        let degrees = |metric| {
            [Sensor::AMDSMI_TEMPERATURE_TYPE_EDGE, Sensor::AMDSMI_TEMPERATURE_TYPE_HOTSPOT].into_iter().find_map(
                |sensor| {
                    let mut degrees = 0;
                    call!(api, amdsmi_get_temp_metric(gpu, sensor, metric, &raw mut degrees))?;
                    u32::try_from(degrees).ok().filter(|&degrees| degrees > 0)
                },
            )
        };
        Gpu {
            index,
            name: asic.map(|asic| text(&asic.market_name)).unwrap_or_default(),
            uuid: numbers.map(|numbers| text(&numbers.hip_uuid)).unwrap_or_default(),
            utilization: busy.as_ref().and_then(|busy| known(busy.gfx_activity)),
            memory_busy: busy.and_then(|busy| known(busy.umc_activity)),
            memory_used: filled(|to| call!(api, amdsmi_get_gpu_memory_usage(gpu, vram, to))),
            memory_total: filled(|to| call!(api, amdsmi_get_gpu_memory_total(gpu, vram, to))),
            temperature: degrees(Metric::AMDSMI_TEMP_CURRENT),
            temperature_limit: degrees(Metric::AMDSMI_TEMP_CRITICAL),
            // Which of the two a GPU reports depends on its generation.
            power: power.and_then(|power| {
                known(power.current_socket_power).or(known(power.average_socket_power)).map(f64::from)
            }),
            power_limit: cap.map(|cap| cap.power_cap as f64 / 1e6).filter(|&watts| watts > 0.0),
            fan: call!(api, amdsmi_get_gpu_fan_speed(gpu, 0, &raw mut fan))
                .and_then(|()| u32::try_from(fan * 100 / MAX_FAN).ok())
                .filter(|&percent| percent <= 100),
            clock: clock.as_ref().and_then(|clock| known(clock.clk)),
            clock_limit: clock.and_then(|clock| known(clock.max_clk)),
            memory_clock: memory_clock.as_ref().and_then(|clock| known(clock.clk)),
            memory_clock_limit: memory_clock.and_then(|clock| known(clock.max_clk)),
            ..Gpu::default()
        }
    }

    fn running(&self, gpu: amdsmi_processor_handle, index: u32) -> Vec<GpuProcess> {
        let (api, mut count) = (self.api, 0);
        let list =
            |count: *mut u32, to: *mut amdsmi_proc_info_t| call!(api, amdsmi_get_gpu_process_list(gpu, count, to));
        if list(&raw mut count, std::ptr::null_mut()).is_none() || count == 0 {
            return Vec::new();
        }
        // SAFETY: a struct of numbers, for which zero is a value.
        let mut found: Vec<amdsmi_proc_info_t> = vec![unsafe { std::mem::zeroed() }; count as usize];
        // Processes that began meanwhile make the call fail; the next sample has them.
        if list(&raw mut count, found.as_mut_ptr()).is_none() {
            return Vec::new();
        }
        found.truncate(count as usize);
        let process = |found: amdsmi_proc_info_t| GpuProcess {
            gpu: index,
            pid: found.pid,
            memory: Some(found.memory_usage.vram_mem),
            utilization: None,
            name: Some(text(&found.name)).filter(|name| !name.is_empty()),
        };
        found.into_iter().map(process).collect()
    }
}
